// A small cache of promises, least recently used out first: what several activities read at once is read once.

export class Cache<T> {
  readonly #limit: number;
  readonly #values = new Map<string, Promise<T>>();

  /** `limit`: how many values are kept. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The value under the key, made where it is not there. A failure is not kept. */
  async get(key: string, make: () => Promise<T>): Promise<T> {
    const value = this.#values.get(key) ?? make();
    this.#values.delete(key);
    this.#values.set(key, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > this.#limit && oldest !== undefined) this.#values.delete(oldest);
    try {
      return await value;
    } catch (error) {
      if (this.#values.get(key) === value) this.#values.delete(key);
      throw error;
    }
  }
}
