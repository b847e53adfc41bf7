// The sweep: gates and trials in a sliding window over the plan's order, counted, until nothing is left to start.
import {
  ApplicationFailure,
  CancellationScope,
  continueAsNew,
  isCancellation,
  log,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { cleaning, records, stretches, surveys } from './activity-options.ts';
import { ChildKeeper } from './child-keeper.ts';
import {
  concurrencyLimit,
  gateEndedSignal,
  parkedSignal,
  progressQuery,
  setConcurrencyUpdate,
  stopSignal,
  trialEndedSignal,
  type SweepInput,
} from './messages.ts';
import { phaseFailureOf } from './phase-failure.ts';
import { Probes } from './probes.ts';
import type { SweepProgress } from './reports.ts';
import { SweepBoard } from './sweep-board.ts';
import { newState, type SweepState } from './sweep-state.ts';

/** How long a cancelled sweep waits for its trials to clean up behind themselves. */
const cleaningMs = 30 * 60_000;

export async function sweep(input: SweepInput): Promise<SweepProgress> {
  const opened: { board: SweepBoard | null } = { board: null };
  setHandler(progressQuery, () => opened.board?.progress() ?? null);
  let goesOn: SweepState | null = null;
  try {
    const board = new SweepBoard(input.sweep, input.gatesOnly, input.carried ?? (await firstState(input)));
    opened.board = board;
    goesOn = await runWindow(input, board);
    if (goesOn === null) return board.progress();
  } finally {
    if (goesOn === null) await finish(input);
  }
  return continueAsNew<typeof sweep>({ ...input, carried: goesOn });
}

/** Keeps the window full until nothing is left. Answers what the next run takes over; null where the sweep is over. */
async function runWindow(input: SweepInput, board: SweepBoard): Promise<SweepState | null> {
  const children = new ChildKeeper(input, board);
  const probes = new Probes(input, board, () => children.wake());
  listen(board, children, probes);
  children.adopt();
  probes.adopt();
  try {
    for (;;) {
      await fillWindow(input, board, children);
      if (board.finished && children.closed) return null;
      if (workflowInfo().continueAsNewSuggested && children.settled) return board.snapshot();
      await children.change();
    }
  } catch (error) {
    if (isCancellation(error)) {
      board.stop({ failureClass: null, line: 'cancelled' });
      await children.cancelAll(cleaningMs);
    }
    throw error;
  }
}

/** Removes what is left of the sweep, however it ended. What does not go away is said and left to be found by label. */
async function finish({ sweep }: SweepInput): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    try {
      await cleaning.finishSweep({ sweep });
    } catch (error) {
      log.error('not all of the sweep could be removed', { sweep, error: String(error) });
    }
  });
}

/**
 * @throws ApplicationFailure with one clear line where the plan cannot be read or closed egress cannot be proved: the
 * sweep fails before it began.
 */
async function firstState({ sweep, plan }: SweepInput): Promise<SweepState> {
  try {
    const { shape, concurrency } = await records.readPlan({ sweep, plan });
    await surveys.beginSweep({ sweep });
    return newState(shape, Math.min(concurrency, concurrencyLimit));
  } catch (error) {
    const { failureClass, phase, message } = phaseFailureOf(error);
    throw ApplicationFailure.nonRetryable(`${failureClass}: ${phase}: ${message}`, failureClass);
  }
}

function listen(board: SweepBoard, children: ChildKeeper, probes: Probes): void {
  setHandler(trialEndedSignal, (report) => children.trialEnded(report));
  setHandler(gateEndedSignal, (report) => children.gateEnded(report));
  setHandler(parkedSignal, (report) => {
    const away = board.parked(report);
    if (away === undefined) return;
    children.parked(report.child, report.waitMs);
    if (away !== null) probes.begin(away);
  });
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
  for (let back = board.nextResumed(); back !== null; back = board.nextResumed()) children.resume(back);
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
