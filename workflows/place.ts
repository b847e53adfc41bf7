// A child's place in its sweep's window: given up while a model, the store or the platform is away, and taken again.
import { condition, setHandler, sleep, workflowInfo } from '@temporalio/workflow';
import { activityBackoff, fullJitterMs, outageMs, unitOf } from '../domain/backoff.ts';
import { failureTable } from '../domain/failures.ts';
import { parkedSignal, resumeSignal } from './messages.ts';
import { phaseFailureOf, type PhaseFailure } from './phase-failure.ts';
import { tell } from './reporting.ts';
import type { Child } from './reports.ts';

/** A sweep that has not answered for this long is told again: it may be another run of it, or gone. */
const silenceMs = 15 * 60_000;

/** An activity that went well for this long before it failed has met another outage: its waits begin short again. */
const wentWellMs = activityBackoff.capMs;

export class Place {
  readonly #child: Child;
  #answer: { readonly goOn: boolean } | null = null;
  #parkedMs = 0;

  constructor(child: Child) {
    this.#child = child;
    setHandler(resumeSignal, (goOn) => {
      this.#answer = { goOn };
    });
  }

  /**
   * Asks an activity, and asks it again when what it failed for is back, for as long as the failure table asks the same
   * activity again. Parked for longer than any outage may last, or told that nothing is tried any more, it fails as the
   * activity did. `earlierTries`: of the askings before this one.
   */
  async keep<T>(ask: (earlierTries: number) => Promise<T>): Promise<T> {
    for (let earlierTries = 0, parks = 1; ; parks += 1) {
      const askedAt = Date.now();
      try {
        return await ask(earlierTries);
      } catch (error) {
        const failure = phaseFailureOf(error);
        if (failureTable[failure.failureClass].retry !== 'activity' || this.#parkedMs >= outageMs)
          throw error;
        earlierTries += failure.tries;
        if (Date.now() - askedAt > wentWellMs) parks = 1;
        if (!(await this.#park(failure, parks))) throw error;
      }
    }
  }

  /** Waits without a place. Answers whether to go on. */
  async #park({ failureClass, phase, message }: PhaseFailure, parks: number): Promise<boolean> {
    const began = Date.now();
    const unit = unitOf(`${workflowInfo().workflowId}/parked/${parks}`);
    const waitMs = fullJitterMs(activityBackoff, parks, unit);
    const report = { child: this.#child, failureClass, message: `${phase}: ${message}`, waitMs };
    this.#answer = null;
    try {
      do {
        if (!(await tell(parkedSignal, report))) {
          await sleep(waitMs);
          return true;
        }
      } while (!(await condition(() => this.#answer !== null, silenceMs)));
      return this.#goesOn();
    } finally {
      this.#parkedMs += Date.now() - began;
    }
  }

  #goesOn(): boolean {
    return this.#answer?.goOn ?? true;
  }
}
