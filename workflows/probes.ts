// Looks whether what a sweep is paused for is back: one question after the other, for as long as it is paused.
import { isCancellation, log, sleep } from '@temporalio/workflow';
import { fullJitterMs, probeBackoff, unitOf } from '../domain/backoff.ts';
import { failureTable } from '../domain/failures.ts';
import { probes } from './activity-options.ts';
import type { SweepInput } from './messages.ts';
import type { Away } from './parking.ts';
import { phaseFailureOf } from './phase-failure.ts';
import type { SweepBoard } from './sweep-board.ts';

export class Probes {
  readonly #input: SweepInput;
  readonly #board: SweepBoard;
  readonly #wake: () => void;

  /** `wake` is called when something is back. */
  constructor(input: SweepInput, board: SweepBoard, wake: () => void) {
    this.#input = input;
    this.#board = board;
    this.#wake = wake;
  }

  /** Takes over what the run before this one was paused for. */
  adopt(): void {
    for (const [away] of this.#board.parking.paused) this.begin(away);
  }

  begin(away: Away): void {
    void this.#untilBack(away);
  }

  async #untilBack(away: Away): Promise<void> {
    try {
      for (let tries = 1; !this.#board.isStopped; tries += 1) {
        await sleep(fullJitterMs(probeBackoff, tries, unitOf(`${this.#input.sweep}/${away}/${tries}`)));
        if (!(await this.#isBack(away))) continue;
        this.#board.parking.back(away);
        break;
      }
      this.#wake();
    } catch (error) {
      if (!isCancellation(error)) throw error;
    }
  }

  async #isBack(away: Away): Promise<boolean> {
    const { sweep, plan } = this.#input;
    try {
      await probes.probe({ sweep, plan, away });
      return true;
    } catch (error) {
      const { failureClass, message } = phaseFailureOf(error);
      log.info('still away', { sweep, away, failureClass, message });
      if (failureTable[failureClass].stopsSweep)
        this.#board.stop({ failureClass, line: `${failureClass}: ${message}` });
      return false;
    }
  }
}
