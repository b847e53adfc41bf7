// A secret that no log, JSON document or error message can show: it is read by `reveal` alone.
import { inspect } from 'node:util';

const mask = '[secret]';

/** Wraps a credential. String conversion, JSON and inspection all give a mask. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself: for the line that sends it, and nothing else. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return mask;
  }

  toJSON(): string {
    return mask;
  }

  [inspect.custom](): string {
    return mask;
  }
}
