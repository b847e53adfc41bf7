// One run of a piece of work for all who ask for it while it runs.
import { aborted } from '../aborted.ts';

export class SharedWork<T> {
  readonly #running = new Map<string, Promise<T>>();

  /**
   * What the work of this key gives, begun where it is not under way. Shared by all who ask, so no one caller's signal
   * ends it, only that caller's wait: it has limits of time of its own.
   */
  async run(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const running = this.#running.get(key) ?? work().finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return signal === undefined ? running : Promise.race([running, aborted(signal)]);
  }
}
