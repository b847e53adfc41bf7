// How many requests one replica has at once: it grows while answers come whole, and shrinks where the server shows strain.
import { FirstTokenTrend } from './first-token-trend.ts';

/** What a server gets before anything is known of it: vLLM batches as many without ado. */
const firstLimit = 128;
/** Where nobody sets another. */
export const defaultMaximum = 1_024;
/** What is left of the limit after a refusal, and after first tokens became slow. */
const shrink = { refused: 0.5, slow: 0.8 } as const;
/** Slowness alone shrinks it no further: so few requests are not what makes a server slow. */
const slowFloor = 4;

interface Waiting {
  readonly go: () => void;
  readonly refuse: (reason: unknown) => void;
}

/**
 * Additive increase, multiplicative decrease (Chiu and Jain, 1989) over a queue that is first come, first served. Times
 * are milliseconds of `nowMs`.
 */
export class Limiter {
  readonly #maximum: number;
  readonly #nowMs: () => number;
  readonly #trend = new FirstTokenTrend();
  readonly #queue: Waiting[] = [];
  #limit: number;
  #inFlight = 0;
  #heldUntilMs = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Requests that began before it tell what is known already. */
  #shrunkAtMs = -Infinity;
  /** Answers to requests that began after it. */
  #answers = 0;

  constructor(maximum: number, nowMs: () => number) {
    this.#maximum = maximum;
    this.#nowMs = nowMs;
    this.#limit = Math.min(firstLimit, maximum);
  }

  /** Requests at once, at present. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Milliseconds for which the server asked to be left alone. */
  get heldMs(): number {
    return Math.max(0, this.#heldUntilMs - this.#nowMs());
  }

  /** Waits for a place, behind whoever came before. @throws the signal's reason, or what `refuse` was given */
  async enter(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#queue.length === 0 && this.#hasRoom()) {
      this.#inFlight += 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const waiting: Waiting = { go: () => resolve(undefined), refuse: reject };
    const leaveQueue = (): void => {
      const at = this.#queue.indexOf(waiting);
      if (at < 0) return;
      this.#queue.splice(at, 1);
      reject(signal?.reason as Error);
      this.#admit();
    };
    this.#queue.push(waiting);
    signal?.addEventListener('abort', leaveQueue, { once: true });
    this.#admit();
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', leaveQueue);
    }
  }

  /** Takes a place though there may be none: for a request that tries whether a server is back. */
  enterNow(): void {
    this.#inFlight += 1;
  }

  /** Gives a place back. */
  leave(): void {
    this.#inFlight -= 1;
    this.#admit();
  }

  /** An answer came whole. `firstTokenMs` null: nothing was streamed. */
  answered(begunAtMs: number, firstTokenMs: number | null): void {
    if (begunAtMs < this.#shrunkAtMs) return;
    this.#answers += 1;
    if (firstTokenMs !== null && this.#trend.take(firstTokenMs, this.#limit)) {
      // Once a round: what the last time brought about is not seen before.
      if (this.#answers >= this.limit)
        this.#shrinkTo(Math.max(Math.min(slowFloor, this.#limit), this.#limit * shrink.slow));
      return;
    }
    // A limit that nobody meets has shown nothing.
    if (this.#inFlight < this.limit) return;
    const fresh = this.#shrunkAtMs === -Infinity;
    this.#limit = Math.min(this.#maximum, this.#limit + (fresh ? 1 : 1 / this.#limit));
    this.#admit();
  }

  /** The server asked for less. */
  overloaded(begunAtMs: number): void {
    if (begunAtMs < this.#shrunkAtMs) return;
    this.#shrinkTo(Math.max(1, Math.min(this.#limit, this.#inFlight) * shrink.refused));
  }

  /** Nothing is sent for so long. */
  hold(ms: number): void {
    this.#heldUntilMs = Math.max(this.#heldUntilMs, this.#nowMs() + ms);
  }

  /** Whoever waits is told that there is no use in it. */
  refuse(reason: unknown): void {
    for (const waiting of this.#queue.splice(0)) waiting.refuse(reason);
    this.#admit();
  }

  #shrinkTo(limit: number): void {
    this.#limit = limit;
    this.#shrunkAtMs = this.#nowMs();
    this.#answers = 0;
    this.#trend.settle();
  }

  #hasRoom(): boolean {
    return this.#inFlight < this.limit && this.heldMs === 0;
  }

  #admit(): void {
    while (this.#hasRoom()) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      this.#inFlight += 1;
      next.go();
    }
    clearTimeout(this.#timer);
    const { heldMs } = this;
    if (heldMs > 0 && this.#queue.length > 0)
      this.#timer = setTimeout(() => this.#admit(), Math.ceil(heldMs));
  }
}
