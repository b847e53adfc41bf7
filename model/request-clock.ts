// The clocks of one request: the first token, the gaps between later ones, and what may trail a finished reply.

/** Milliseconds. Each has a default that suits a busy server of large models. */
export interface ModelTimeouts {
  readonly connectMs: number;
  /** From the request to the first token: queue and prefill. */
  readonly firstTokenMs: number;
  /** Between two events of a reply that has begun; comments are no sign of life. */
  readonly stallMs: number;
  /** After the finish reason, for usage and [DONE]. */
  readonly trailingMs: number;
  /** The whole of a probe. */
  readonly probeMs: number;
}

export const defaultTimeouts: ModelTimeouts = {
  connectMs: 10_000,
  firstTokenMs: 600_000,
  stallMs: 60_000,
  trailingMs: 5_000,
  probeMs: 10_000,
};

/** Aborts one request when the caller says so or when the armed time passes, and knows which of the two it was. */
export class RequestClock {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #onCaller: () => void;
  #timer: NodeJS.Timeout | undefined;
  /** What was waited for when the time passed; null while none has. */
  expired: string | null = null;

  constructor(caller: AbortSignal | undefined) {
    this.#caller = caller;
    this.#onCaller = () => {
      this.#controller.abort(caller?.reason);
    };
    caller?.throwIfAborted();
    caller?.addEventListener('abort', this.#onCaller, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts waiting anew, for at most `ms`. */
  arm(ms: number, waitingFor: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.expired = `${waitingFor} did not come within ${ms / 1000} s`;
      this.#controller.abort(new Error(this.expired));
    }, ms);
  }

  /** Ends the clocks; a request that still goes on is given up. */
  close(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#onCaller);
    this.#controller.abort(new Error('the request is over'));
  }
}
