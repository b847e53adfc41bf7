// Sandboxes that this process is connected to: the phases of a generation share one connection.
import { ClassifiedError } from '../domain/errors.ts';
import type { Sandbox, SandboxDriver, SandboxIdentity } from '../sandbox/port.ts';

interface Entry {
  readonly sandbox: Sandbox;
  /** The activities that use it now. */
  readonly users: Set<SandboxPool>;
}

/** What all views of a process's connections have in common. */
interface Shared {
  /** By name, in the order of their last use. */
  readonly entries: Map<string, Entry>;
  /** Removals that were begun and are not waited for: whether each one went well. */
  readonly removals: Map<string, Promise<boolean>>;
}

/**
 * The connections of a process, as one user sees them: an activity takes a view of its own with `forActivity`. What it
 * opened stays open until it calls `end`; of those that nobody uses, as many as `idleLimit` are kept for the next phase.
 */
export class SandboxPool {
  readonly #driver: SandboxDriver;
  readonly #idleLimit: number;
  readonly #shared: Shared;

  constructor(
    driver: SandboxDriver,
    idleLimit: number,
    shared: Shared = { entries: new Map(), removals: new Map() },
  ) {
    this.#driver = driver;
    this.#idleLimit = idleLimit;
    this.#shared = shared;
  }

  forActivity(): SandboxPool {
    return new SandboxPool(this.#driver, this.#idleLimit, this.#shared);
  }

  /** The sandbox that `expected` says, connected. @throws SandboxGone where it is not that one any more */
  async open(expected: SandboxIdentity): Promise<Sandbox> {
    const known = this.#shared.entries.get(expected.name)?.sandbox;
    const same = known?.identity.uid === expected.uid && known.identity.bootId === expected.bootId;
    return this.keep(same ? known : await this.#driver.open(expected));
  }

  /** Keeps a sandbox that was just created or opened; the connection to use, where another one is there already. */
  async keep(sandbox: Sandbox): Promise<Sandbox> {
    const { name, uid, bootId } = sandbox.identity;
    const known = this.#shared.entries.get(name);
    const same = known?.sandbox.identity.uid === uid && known.sandbox.identity.bootId === bootId;
    const entry = same ? known : { sandbox, users: new Set<SandboxPool>() };
    entry.users.add(this);
    // Deleted first: a map keeps the place of a name that it has.
    this.#shared.entries.delete(name);
    this.#shared.entries.set(name, entry);
    if (same && known.sandbox !== sandbox) await sandbox.close();
    if (!same) await known?.sandbox.close();
    return entry.sandbox;
  }

  /** Closes the connection to a sandbox; the sandbox goes on. */
  async release(name: string): Promise<void> {
    const entry = this.#shared.entries.get(name);
    this.#shared.entries.delete(name);
    await entry?.sandbox.close();
  }

  /** Removes a sandbox by force, its connection first. One that is being let go is waited for. */
  async destroy(name: string): Promise<void> {
    if (await this.#shared.removals.get(name)) return;
    await this.release(name);
    await this.#driver.destroy(name);
  }

  /**
   * Begins to remove a sandbox that nobody wants any more and does not wait for it. One that stays is found by its
   * generation's clean-up.
   */
  letGo(name: string, onFailure: (error: unknown) => void): void {
    const removal = this.destroy(name).then(
      () => true,
      (error: unknown) => {
        onFailure(error);
        return false;
      },
    );
    this.#shared.removals.set(name, removal);
    void removal.then(() => {
      if (this.#shared.removals.get(name) === removal) this.#shared.removals.delete(name);
    });
  }

  /** Waits for those being let go whose names begin so: a driver may not list what is on its way out. */
  async gone(prefix: string): Promise<void> {
    const going = [...this.#shared.removals].filter(([name]) => name.startsWith(prefix));
    await Promise.all(going.map(([, removal]) => removal));
  }

  /** This view uses nothing any more. The longest unused connections over the limit are closed. */
  async end(): Promise<void> {
    for (const { users } of this.#shared.entries.values()) users.delete(this);
    const idle = [...this.#shared.entries].filter(([, { users }]) => users.size === 0);
    const over = Math.max(0, idle.length - this.#idleLimit);
    for (const [name] of idle.slice(0, over)) await this.release(name);
  }
}

/** Ends a wait at once when the activity is cancelled: the reason of the signal is thrown. */
export function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  if (signal.aborted) {
    work.catch(() => undefined);
    return Promise.reject(abortReason(signal));
  }
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => {
      reject(abortReason(signal));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', onAbort);
    });
  });
}

/** What a signal was aborted with, as an Error. */
export const abortReason = (signal: AbortSignal): Error =>
  signal.reason instanceof Error
    ? signal.reason
    : new ClassifiedError('Unexpected', `aborted: ${String(signal.reason)}`);
