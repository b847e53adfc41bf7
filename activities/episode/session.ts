// One step's episode as its ports share it: records, clock, signal, and the first error that ended it.
import { TimeUp } from './ending.ts';
import type { AgentClock } from './clock.ts';
import type { TurnRecords } from './turn-records.ts';

export interface SessionOptions {
  readonly records: TurnRecords;
  readonly clock: AgentClock;
  /** Aborted by cancellation and by the watch over the sandbox. */
  readonly signal: AbortSignal;
  /** Which try of the activity this is, from 1. */
  readonly attempt: number;
  readonly beat: () => void;
  readonly now: () => Date;
}

export class EpisodeSession {
  readonly records: TurnRecords;
  readonly clock: AgentClock;
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly now: () => Date;
  readonly #beat: () => void;
  #ended: { readonly error: unknown } | null = null;

  constructor(options: SessionOptions) {
    this.records = options.records;
    this.clock = options.clock;
    this.signal = options.signal;
    this.attempt = options.attempt;
    this.now = options.now;
    this.#beat = options.beat;
  }

  /**
   * Makes one call of a port. The first error is every later call's too, so that no scaffold goes on after it; a
   * call after the agent's time is none.
   */
  async call<T>(make: () => Promise<T>): Promise<T> {
    this.throwIfEnded();
    try {
      this.signal.throwIfAborted();
      if (this.clock.expired) throw new TimeUp();
      this.#beat();
      return await make();
    } catch (error) {
      this.#ended = { error };
      throw error;
    }
  }

  throwIfEnded(): void {
    if (this.#ended !== null) throw this.#ended.error;
  }
}
