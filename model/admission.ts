// Who may ask one replica, and when: its circuit, its limit and the delay that it named, over one process.
import { fullJitterMs, type Backoff } from '../domain/backoff.ts';
import { ClassifiedError } from '../domain/errors.ts';
import { Circuit, type Attempt } from './circuit.ts';
import { defaultMaximum, Limiter } from './limiter.ts';
import { ModelTrouble } from './trouble.ts';

/** A longer delay is not waited for in the queue: whoever asks gives up its place in the window for it. */
const longestHoldMs = 30_000;

/** A server that refuses one request at a time, and names no delay, is asked less and less often. */
const refusedBackoff: Backoff = { baseMs: 1_000, capMs: 30_000, floorMs: 500 };

/** The replica is not asked for now. */
export class ReplicaLeft extends ModelTrouble {
  constructor(why: string, leftMs: number) {
    super('away', `${why}; asked again in ${Math.ceil(leftMs / 1_000)} s`, {
      retryAfterMs: Math.ceil(leftMs),
    });
  }
}

/** A change that an operator may want to see: `openMs` null where the replica answers again. */
export type OnCircuit = (change: { readonly openMs: number | null; readonly reason: string }) => void;

export interface AdmissionOptions {
  /** Requests at once, at most; null: our own bound. */
  readonly maximum: number | null;
  readonly onCircuit: OnCircuit;
  readonly nowMs?: () => number;
  readonly unit?: () => number;
}

/** One request that was let in. Exactly one of the last three ends it. */
export interface Admitted {
  readonly queuedMs: number;
  /** The first token is a sign of life: others may follow. */
  readonly begun: () => void;
  /** `firstTokenMs` null: an answer without a token, such as a refusal of what was asked. */
  readonly answered: (firstTokenMs: number | null) => void;
  /** `sessionId`: whose request it was. */
  readonly failed: (error: unknown, sessionId: string) => void;
  /** Its caller ended it. */
  readonly dropped: () => void;
}

interface FailedRequest {
  readonly sessionId: string;
  readonly begunAtMs: number;
  readonly begun: boolean;
  readonly attempt: Attempt | null;
}

export class Admission {
  readonly #nowMs: () => number;
  readonly #unit: () => number;
  readonly #circuit: Circuit;
  readonly #limiter: Limiter;
  #lastFailure = '';
  /** Refusals for load in a row while one request at a time was sent. */
  #refusals = 0;

  constructor({ maximum, onCircuit, nowMs, unit }: AdmissionOptions) {
    this.#nowMs = nowMs ?? (() => performance.now());
    this.#unit = unit ?? Math.random;
    this.#limiter = new Limiter(maximum ?? defaultMaximum, this.#nowMs);
    this.#circuit = new Circuit({
      nowMs: this.#nowMs,
      unit: this.#unit,
      onChange: (openMs) => onCircuit({ openMs, reason: this.#lastFailure }),
    });
  }

  /** Requests at once, at present. */
  get limit(): number {
    return this.#limiter.limit;
  }

  /** Why the replica is not to be asked now; null: it may be. */
  get left(): ReplicaLeft | null {
    const { leftMs } = this.#circuit;
    const { heldMs } = this.#limiter;
    const ms = Math.max(leftMs, heldMs > longestHoldMs ? heldMs : 0);
    return ms === 0 ? null : new ReplicaLeft(this.#lastFailure, ms);
  }

  /**
   * Waits to be let in. `probing`: now, past whoever waits and whatever an open circuit has left of its time; only a
   * long delay that the server named is kept to.
   * @throws ReplicaLeft where the replica is not to be asked, or comes to be while this waits; the signal's reason
   */
  async enter(signal?: AbortSignal, probing = false): Promise<Admitted> {
    const askedAtMs = this.#nowMs();
    const { left } = this;
    const named = this.#limiter.heldMs > longestHoldMs;
    if (left !== null && (named || !probing)) throw left;
    signal?.throwIfAborted();
    const trying = !this.#circuit.closed;
    const attempt = trying ? this.#circuit.try() : null;
    if (trying || probing) this.#limiter.enterNow();
    else await this.#limiter.enter(signal);
    return this.#admit(askedAtMs, attempt);
  }

  #admit(askedAtMs: number, attempt: Attempt | null): Admitted {
    const begunAtMs = this.#nowMs();
    let begun = false;
    return {
      queuedMs: begunAtMs - askedAtMs,
      begun: () => {
        begun = true;
        this.#circuit.began();
      },
      answered: (firstTokenMs) => {
        this.#circuit.answered();
        this.#refusals = 0;
        this.#limiter.answered(begunAtMs, firstTokenMs);
        this.#limiter.leave();
      },
      failed: (error, sessionId) => {
        this.#failed(error, { sessionId, begunAtMs, begun, attempt });
        this.#limiter.leave();
      },
      dropped: () => {
        this.#circuit.dropped(attempt);
        this.#limiter.leave();
      },
    };
  }

  #failed(error: unknown, { sessionId, begunAtMs, begun, attempt }: FailedRequest): void {
    this.#lastFailure = error instanceof Error ? error.message : String(error);
    if (error instanceof ModelTrouble && error.kind === 'overloaded') {
      // It answered, if only to ask for less.
      this.#circuit.answered();
      this.#overloaded(error, begunAtMs);
    } else if (error instanceof ModelTrouble) {
      // Its cause is what became of the connection: an answer of the server has none.
      const unanswered = error.cause !== undefined && !begun;
      const session = unanswered ? null : sessionId;
      this.#circuit.failed({ session, grave: error.kind === 'hung' && !begun, attempt });
    } else if (error instanceof ClassifiedError && error.failureClass === 'StreamBroken') {
      this.#circuit.failed({ session: sessionId, grave: false, attempt });
    } else {
      this.#circuit.answered();
    }
    const { left } = this;
    if (left !== null) this.#limiter.refuse(left);
  }

  #overloaded({ retryAfterMs }: ModelTrouble, begunAtMs: number): void {
    const alone = this.#limiter.limit === 1;
    this.#limiter.overloaded(begunAtMs);
    if (alone) this.#refusals += 1;
    const ownMs = alone ? fullJitterMs(refusedBackoff, this.#refusals, this.#unit()) : 0;
    this.#limiter.hold(retryAfterMs ?? ownMs);
  }
}
