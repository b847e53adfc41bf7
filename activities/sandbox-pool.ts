// Sandboxes that this process is connected to: the phases of a generation share one connection.
import { ClassifiedError } from '../domain/errors.ts';
import type { Sandbox, SandboxDriver, SandboxIdentity } from '../sandbox/port.ts';

interface Entry {
  readonly sandbox: Sandbox;
  /** The activities that use it now. */
  readonly users: Set<SandboxPool>;
}

/**
 * The connections of a process, as one user sees them: an activity takes a view of its own with `forActivity`. What it
 * opened stays open until it calls `end`; of those that nobody uses, as many as `idleLimit` are kept for the next phase.
 */
export class SandboxPool {
  readonly #driver: SandboxDriver;
  readonly #idleLimit: number;
  /** By name, in the order of their last use. Shared by all views. */
  readonly #entries: Map<string, Entry>;

  constructor(driver: SandboxDriver, idleLimit: number, entries = new Map<string, Entry>()) {
    this.#driver = driver;
    this.#idleLimit = idleLimit;
    this.#entries = entries;
  }

  forActivity(): SandboxPool {
    return new SandboxPool(this.#driver, this.#idleLimit, this.#entries);
  }

  /** The sandbox that `expected` says, connected. @throws SandboxGone where it is not that one any more */
  async open(expected: SandboxIdentity): Promise<Sandbox> {
    const known = this.#entries.get(expected.name)?.sandbox;
    const same = known?.identity.uid === expected.uid && known.identity.bootId === expected.bootId;
    return this.keep(same ? known : await this.#driver.open(expected));
  }

  /** Keeps a sandbox that was just created or opened; the connection to use, where another one is there already. */
  async keep(sandbox: Sandbox): Promise<Sandbox> {
    const { name, uid, bootId } = sandbox.identity;
    const known = this.#entries.get(name);
    const same = known?.sandbox.identity.uid === uid && known.sandbox.identity.bootId === bootId;
    const entry = same ? known : { sandbox, users: new Set<SandboxPool>() };
    entry.users.add(this);
    // Deleted first: a map keeps the place of a name that it has.
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    if (same && known.sandbox !== sandbox) await sandbox.close();
    if (!same) await known?.sandbox.close();
    return entry.sandbox;
  }

  /** Closes the connection to a sandbox; the sandbox goes on. */
  async release(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    this.#entries.delete(name);
    await entry?.sandbox.close();
  }

  /** Removes a sandbox by force, its connection first. */
  async destroy(name: string): Promise<void> {
    await this.release(name);
    await this.#driver.destroy(name);
  }

  /** This view uses nothing any more. The longest unused connections over the limit are closed. */
  async end(): Promise<void> {
    for (const { users } of this.#entries.values()) users.delete(this);
    const idle = [...this.#entries].filter(([, { users }]) => users.size === 0);
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
