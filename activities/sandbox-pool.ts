// Sandboxes that this process is connected to: the phases of a generation share one connection.
import { ClassifiedError } from '../domain/errors.ts';
import type { Sandbox, SandboxDriver, SandboxIdentity } from '../sandbox/port.ts';

/** Connections kept; the oldest is closed beyond it, and opened again where it is asked for. */
const connectionLimit = 512;

export class SandboxPool {
  readonly #driver: SandboxDriver;
  readonly #open = new Map<string, Sandbox>();

  constructor(driver: SandboxDriver) {
    this.#driver = driver;
  }

  /** The sandbox that `expected` says, connected. @throws SandboxGone where it is not that one any more */
  async open(expected: SandboxIdentity): Promise<Sandbox> {
    const known = this.#open.get(expected.name);
    if (known?.identity.uid === expected.uid && known.identity.bootId === expected.bootId) return known;
    const sandbox = await this.#driver.open(expected);
    await this.keep(sandbox);
    return sandbox;
  }

  /** Keeps a sandbox that was just created. */
  async keep(sandbox: Sandbox): Promise<void> {
    const { name } = sandbox.identity;
    await this.release(name);
    this.#open.set(name, sandbox);
    const [oldest] = this.#open.keys();
    if (this.#open.size > connectionLimit && oldest !== undefined) await this.release(oldest);
  }

  /** Closes the connection to a sandbox; the sandbox goes on. */
  async release(name: string): Promise<void> {
    const sandbox = this.#open.get(name);
    this.#open.delete(name);
    await sandbox?.close();
  }

  /** Removes a sandbox by force, its connection first. */
  async destroy(name: string): Promise<void> {
    await this.release(name);
    await this.#driver.destroy(name);
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
