// The agent's clock: what of an episode is charged, summed from its turn records alone.
import type { ObservationRecord, ReplyRecord } from '../../domain/episode.ts';

/** Remaining time below this is none: an act cut at its budget may be told short by a rounding. Milliseconds. */
const resolutionMs = 1;

export interface ClockOptions {
  readonly limitMs: number;
  /** `nominal` charges tokens at `tokensPerSecond` in place of the time that the server took. */
  readonly kind: 'charged' | 'nominal';
  /** Null: no rate is declared, and nominal time is not known. */
  readonly tokensPerSecond: number | null;
}

/**
 * Charged: from first to last token of the reply that was used, plus the commands' wall time. Queues, retries, gaps
 * and lost workers are not (docs/failures.md).
 */
export class AgentClock {
  readonly #options: ClockOptions;
  #replyMs = 0;
  #commandsMs = 0;
  #tokens = 0;

  constructor(options: ClockOptions) {
    this.#options = options;
  }

  get chargedMs(): number {
    return this.#replyMs + this.#commandsMs;
  }

  get nominalMs(): number | null {
    const { tokensPerSecond } = this.#options;
    return tokensPerSecond === null ? null : (this.#tokens / tokensPerSecond) * 1_000 + this.#commandsMs;
  }

  /** What is left of the agent's time by the clock that the sweep grades by. */
  get remainingMs(): number {
    const used = this.countsTokens ? (this.nominalMs ?? this.chargedMs) : this.chargedMs;
    return Math.max(0, this.#options.limitMs - used);
  }

  get expired(): boolean {
    return this.remainingMs < resolutionMs;
  }

  /** Whether a running reply is charged by its tokens, and so cannot be cut by the wall. */
  get countsTokens(): boolean {
    return this.#options.kind === 'nominal' && this.#options.tokensPerSecond !== null;
  }

  chargeReply({ times, usage }: Pick<ReplyRecord, 'times' | 'usage'>): void {
    this.#replyMs += Math.max(0, times.lastTokenMs - (times.firstTokenMs ?? times.lastTokenMs));
    this.#tokens += usage.completionTokens;
  }

  /** A reply that was cut when the time ran out has used up all of it. */
  chargeCutReply(): void {
    this.#replyMs += this.remainingMs;
  }

  chargeCommands({ commandsMs }: Pick<ObservationRecord, 'commandsMs'>): void {
    this.#commandsMs += commandsMs;
  }
}
