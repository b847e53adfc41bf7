// A replica's circuit: after failures in a row nothing is sent there for a while, then one request says whether it is back.
import { fullJitterMs, type Backoff } from '../domain/backoff.ts';

/** In a row, of requests to one replica. */
const failuresToOpen = 5;
/** Sessions that these are of, at least: what one alone brings about may lie in what it asks. */
const sessionsToOpen = 2;

/** How long nothing is sent; with every try that fails it is longer. */
const openBackoff: Backoff = { baseMs: 2_000, capMs: 30_000, floorMs: 500 };

/** What others are told to wait for while one request tries. */
const tryPauseMs = 1_000;

/** A request that tries whether a server is back. */
export type Attempt = object;

export interface CircuitFailure {
  /** Whose request it was; null: it lies in no request, such as a connection that is refused. */
  readonly session: string | null;
  /** That one alone is enough, such as minutes without a first token. */
  readonly grave: boolean;
  /** Absent or null: the request was none. */
  readonly attempt?: Attempt | null;
}

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
  /** Of those failures. */
  readonly #sessions = new Set<string>();
  /** Times that it opened since it was last closed. */
  #opened = 0;
  #openUntilMs = 0;
  #trying: Attempt | null = null;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  get closed(): boolean {
    return this.#opened === 0;
  }

  /** Milliseconds before a request may pass; 0: one may now. */
  get leftMs(): number {
    if (this.closed) return 0;
    if (this.#trying !== null) return tryPauseMs;
    return Math.max(0, this.#openUntilMs - this.#options.nowMs());
  }

  /** One request is the try of a circuit that is open; null: another is, and this one passes beside it. */
  try(): Attempt | null {
    if (this.#trying !== null) return null;
    this.#trying = {};
    return this.#trying;
  }

  /** The first token of a reply has come: enough for a circuit that was open, and no end yet of failures in a row. */
  began(): void {
    if (!this.closed) this.answered();
  }

  /** The server gave something that only one which serves can give. */
  answered(): void {
    const { closed } = this;
    this.#failures = 0;
    this.#sessions.clear();
    this.#opened = 0;
    this.#trying = null;
    if (!closed) this.#options.onChange(null);
  }

  /** A request failed. */
  failed({ session, grave, attempt = null }: CircuitFailure): void {
    // While it is open, the try alone says something new of it.
    const opens = this.closed
      ? this.#enoughWith(session) || grave
      : attempt !== null && attempt === this.#trying;
    if (!opens) return;
    this.#trying = null;
    this.#opened += 1;
    const openMs = fullJitterMs(openBackoff, this.#opened, (1 + this.#options.unit()) / 2);
    this.#openUntilMs = this.#options.nowMs() + openMs;
    this.#options.onChange(openMs);
  }

  /** A request ended without saying anything of the server: where it was the try, another may follow. */
  dropped(attempt: Attempt | null): void {
    if (attempt === this.#trying) this.#trying = null;
  }

  /** Counts one more failure in a row; tells whether they are enough. */
  #enoughWith(session: string | null): boolean {
    this.#failures += 1;
    if (session !== null) this.#sessions.add(session);
    return this.#failures >= failuresToOpen && (session === null || this.#sessions.size >= sessionsToOpen);
  }
}
