// The sweep: gates and trials in a sliding window over the plan's order, counted, until nothing is left to start.
import {
  ApplicationFailure,
  continueAsNew,
  isCancellation,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { records, stretches } from './activity-options.ts';
import { ChildKeeper } from './child-keeper.ts';
import {
  concurrencyLimit,
  gateEndedSignal,
  progressQuery,
  setConcurrencyUpdate,
  stopSignal,
  trialEndedSignal,
  type SweepInput,
} from './messages.ts';
import { phaseFailureOf } from './phase-failure.ts';
import type { SweepProgress } from './reports.ts';
import { SweepBoard } from './sweep-board.ts';
import { newState, type SweepState } from './sweep-state.ts';

/** How long a cancelled sweep waits for its trials to clean up behind themselves. */
const cleaningMs = 30 * 60_000;

export async function sweep(input: SweepInput): Promise<SweepProgress> {
  const opened: { board: SweepBoard | null } = { board: null };
  setHandler(progressQuery, () => opened.board?.progress() ?? null);
  const board = new SweepBoard(input.sweep, input.gatesOnly, input.carried ?? (await firstState(input)));
  opened.board = board;
  const children = new ChildKeeper(input, board);
  listen(board, children);
  children.adopt();
  try {
    for (;;) {
      await fillWindow(input, board, children);
      if (board.finished && children.closed) return board.progress();
      if (workflowInfo().continueAsNewSuggested && children.settled) break;
      await children.change();
    }
  } catch (error) {
    if (isCancellation(error)) {
      board.stop({ failureClass: null, line: 'cancelled' });
      await children.cancelAll(cleaningMs);
    }
    throw error;
  }
  return continueAsNew<typeof sweep>({ ...input, carried: board.snapshot() });
}

/** @throws ApplicationFailure with one clear line where the plan cannot be read: the sweep fails before it began. */
async function firstState({ sweep, plan }: SweepInput): Promise<SweepState> {
  try {
    const { shape, concurrency } = await records.readPlan({ sweep, plan });
    return newState(shape, Math.min(concurrency, concurrencyLimit));
  } catch (error) {
    const { failureClass, phase, message } = phaseFailureOf(error);
    throw ApplicationFailure.nonRetryable(`${failureClass}: ${phase}: ${message}`, failureClass);
  }
}

function listen(board: SweepBoard, children: ChildKeeper): void {
  setHandler(trialEndedSignal, (report) => children.trialEnded(report));
  setHandler(gateEndedSignal, (report) => children.gateEnded(report));
  setHandler(stopSignal, (why) => {
    board.stop({ failureClass: null, line: why });
    children.wake();
  });
  setHandler(
    setConcurrencyUpdate,
    (concurrency) => {
      board.setConcurrency(concurrency);
      children.wake();
      return concurrency;
    },
    { validator: checkConcurrency },
  );
}

function checkConcurrency(concurrency: number): void {
  if (Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= concurrencyLimit) return;
  throw new RangeError(`concurrency is a whole number from 1 to ${concurrencyLimit}, not ${concurrency}`);
}

/** Starts whatever may start now. Where the store must be asked first and cannot be, the sweep stops and says so. */
async function fillWindow(input: SweepInput, board: SweepBoard, children: ChildKeeper): Promise<void> {
  for (let start = board.nextStart(); start !== null; start = board.nextStart()) {
    if (start.kind !== 'ask') {
      board.begin(start);
      children.start(start);
      continue;
    }
    try {
      const { first, count } = start;
      board.know(
        first + count,
        await stretches.readDone({ sweep: input.sweep, plan: input.plan, first, count }),
      );
    } catch (error) {
      const { failureClass, phase, message } = phaseFailureOf(error);
      board.stop({ failureClass, line: `${failureClass}: ${phase}: ${message}` });
    }
  }
}
