// A replica's circuit: after failures in a row nothing is sent there for a while, then one request says whether it is back.
import { fullJitterMs, type Backoff } from '../domain/backoff.ts';

/** In a row, of any requests to one replica. */
const failuresToOpen = 5;

/** How long nothing is sent; with every try that fails it is longer. */
const openBackoff: Backoff = { baseMs: 2_000, capMs: 30_000, floorMs: 500 };

/** What others are told to wait for while one request tries. */
const tryPauseMs = 1_000;

export interface CircuitOptions {
  readonly nowMs: () => number;
  /** In [0, 1): jitter. */
  readonly unit: () => number;
  /** Told when it opens, with the time in milliseconds, and when it closes again: null. */
  readonly onChange: (openMs: number | null) => void;
}

/** Closed: requests pass. Open: none does. Once its time is over, one does: an answer closes it, a failure opens it for longer. */
export class Circuit {
  readonly #options: CircuitOptions;
  #failures = 0;
  /** Times that it opened since it was last closed. */
  #opened = 0;
  #openUntilMs = 0;
  #trying = false;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  get closed(): boolean {
    return this.#opened === 0;
  }

  /** Milliseconds before a request may pass; 0: one may now. */
  get leftMs(): number {
    if (this.closed) return 0;
    if (this.#trying) return tryPauseMs;
    return Math.max(0, this.#openUntilMs - this.#options.nowMs());
  }

  /** One request is the try of a circuit that is open. */
  try(): void {
    this.#trying = true;
  }

  /** The first token of a reply has come: enough for a circuit that was open, and no end yet of failures in a row. */
  began(): void {
    if (!this.closed) this.answered();
  }

  /** The server gave something that only one which serves can give. */
  answered(): void {
    const { closed } = this;
    this.#failures = 0;
    this.#opened = 0;
    this.#trying = false;
    if (!closed) this.#options.onChange(null);
  }

  /** A request failed. `grave`: that one alone is enough, such as minutes without a first token. */
  failed(grave: boolean): void {
    this.#failures += 1;
    // Requests from before it opened say nothing new of it.
    if (!this.closed && !this.#trying) return;
    if (this.closed && !grave && this.#failures < failuresToOpen) return;
    this.#trying = false;
    this.#opened += 1;
    const openMs = fullJitterMs(openBackoff, this.#opened, (1 + this.#options.unit()) / 2);
    this.#openUntilMs = this.#options.nowMs() + openMs;
    this.#options.onChange(openMs);
  }

  /** The try ended without saying anything of the server: another may follow. */
  dropped(): void {
    this.#trying = false;
  }
}
