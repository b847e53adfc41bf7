// Starts a sweep's children and learns of their ends: by their signal, by their handle, or by finding them gone.
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  ChildWorkflowFailure,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  ParentClosePolicy,
  sleep,
  startChild,
} from '@temporalio/workflow';
import { gate } from './gate.ts';
import {
  childWorkflowId,
  gateWorkflowId,
  resumeSignal,
  trialWorkflowId,
  type SweepInput,
} from './messages.ts';
import type { Child, GateReport, TrialReport } from './reports.ts';
import type { Resumed } from './parking.ts';
import type { SweepBoard } from './sweep-board.ts';
import { trial } from './trial.ts';

/** A child without a handle that says nothing while nothing else happens for this long is looked for. */
const silenceMs = 15 * 60_000;

/** Waits for a workflow that has reported, and has only to close: the first, and the longest. */
const closingMs = { first: 1_000, longest: 60_000 };

export class ChildKeeper {
  readonly #input: SweepInput;
  readonly #board: SweepBoard;
  /** Children that another run of the sweep started: known by id alone. */
  readonly #adopted = new Map<string, Child>();
  /** The start that each id in flight stands for: an older one's end is no news. */
  readonly #starts = new Map<string, number>();
  /** Ids that are begun anew after their last child's report: one that still runs is about to close, and says no more. */
  readonly #reported = new Set<string>();
  #startCount = 0;
  #pendingStarts = 0;
  /** Children that this run started and whose workflows have not closed. */
  #followed = 0;
  #changed = false;

  constructor(input: SweepInput, board: SweepBoard) {
    this.#input = input;
    this.#board = board;
  }

  /** No start is under way: what is in flight is really in flight. */
  get settled(): boolean {
    return this.#pendingStarts === 0;
  }

  /** Every child that this run started has closed: reports come a moment earlier. */
  get closed(): boolean {
    return this.#followed === 0;
  }

  /** Takes over what the run before this one had in flight and waiting. */
  adopt(): void {
    for (const child of this.#inFlight()) this.#adopted.set(this.#idOf(child), child);
    for (const [index, , waitMs] of this.#board.waiting) {
      this.#reported.add(trialWorkflowId(this.#input.sweep, index));
      this.#wait(waitMs, () => this.#board.waited(index));
    }
    for (const [child, waitMs] of this.#board.parking.waits) this.parked(child, waitMs);
  }

  start(child: Child): void {
    const id = this.#idOf(child);
    this.#startCount += 1;
    this.#starts.set(id, this.#startCount);
    this.#pendingStarts += 1;
    void CancellationScope.nonCancellable(() => this.#follow(child, id, this.#startCount));
  }

  trialEnded(report: TrialReport): void {
    const id = trialWorkflowId(this.#input.sweep, report.index);
    this.#forget(id);
    const waitMs = this.#board.trialEnded(report);
    if (waitMs !== null) {
      this.#reported.add(id);
      this.#wait(waitMs, () => this.#board.waited(report.index));
    }
    this.wake();
  }

  gateEnded(report: GateReport): void {
    const id = gateWorkflowId(this.#input.sweep, report.task);
    this.#forget(id);
    this.#board.gateEnded(report);
    if (report.ended.kind === 'cancelled') this.#reported.add(id);
    this.wake();
  }

  /** A child has given up its place and asks for it again after this wait. */
  parked(child: Child, waitMs: number): void {
    this.#wait(waitMs, () => this.#board.parking.waited(child));
    this.wake();
  }

  /** Tells a parked child that it has its place again, or that it has to end. */
  resume({ child, goOn }: Resumed): void {
    const id = this.#idOf(child);
    void CancellationScope.nonCancellable(async () => {
      try {
        await getExternalWorkflowHandle(id).signal(resumeSignal, goOn);
      } catch (error) {
        // It has ended in the meantime, and its report is on its way; or it is found gone like any other.
        log.info('a parked child was not there to be told', { id, error: String(error) });
      }
    });
  }

  /** Something changed that may let a trial start or the sweep end. */
  wake(): void {
    this.#changed = true;
  }

  /** Waits until something has changed. */
  async change(): Promise<void> {
    const changed = (): boolean => this.#changed;
    if (this.#adopted.size === 0) await condition(changed);
    else if (!(await condition(changed, silenceMs))) this.#lookForAdopted();
    this.#changed = false;
  }

  /** Asks every child in flight to end, and waits for their clean-up, `patienceMs` at most. */
  async cancelAll(patienceMs: number): Promise<void> {
    await CancellationScope.nonCancellable(async () => {
      await condition(() => this.settled);
      await Promise.all(this.#inFlight().map((child) => this.#cancel(this.#idOf(child))));
      await condition(() => this.#board.finished && this.closed, patienceMs);
    });
  }

  async #follow(child: Child, id: string, start: number): Promise<void> {
    this.#followed += 1;
    try {
      const handle = await this.#begin(child, id);
      if (handle === null) return;
      const report = await handle.result();
      if (this.#starts.get(id) === start) this.#book(report);
    } catch (error) {
      if (this.#starts.get(id) === start) this.#book(reportOfLost(child, error));
    } finally {
      this.#followed -= 1;
      this.wake();
    }
  }

  /** Starts the child; null where one of this id is running already, which is then as good as ours. */
  async #begin(child: Child, id: string) {
    try {
      const handle = await this.#startAfterLast(child, id);
      if (handle === null) this.#adopted.set(id, child);
      else this.#adopted.delete(id);
      return handle;
    } finally {
      this.#pendingStarts -= 1;
      this.wake();
    }
  }

  /** Starts the child when the one before it under its id has closed, where that one has reported; null where it has not. */
  async #startAfterLast(child: Child, id: string) {
    for (let waitMs = closingMs.first; ; waitMs = Math.min(2 * waitMs, closingMs.longest)) {
      try {
        const handle = await this.#startChild(child, id);
        this.#reported.delete(id);
        return handle;
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        if (!this.#reported.has(id)) return null;
      }
      await sleep(waitMs);
    }
  }

  #startChild(child: Child, workflowId: string) {
    const { sweep, plan, deadlineMs } = this.#input;
    const budget = deadlineMs === undefined ? {} : { deadlineMs };
    // A sweep that continues as new closes, and its children go on.
    const options = { workflowId, parentClosePolicy: ParentClosePolicy.ABANDON };
    return child.kind === 'trial'
      ? startChild(trial, { ...options, args: [{ sweep, plan, index: child.index, ...budget }] })
      : startChild(gate, { ...options, args: [{ sweep, plan, task: child.task }] });
  }

  #book(report: TrialReport | GateReport): void {
    if ('task' in report) this.gateEnded(report);
    else this.trialEnded(report);
  }

  /** Starts each again under its id: the server refuses where it is still running, and where it is gone it is begun anew. */
  #lookForAdopted(): void {
    for (const child of this.#adopted.values()) this.start(child);
  }

  #wait(waitMs: number, then: () => void): void {
    void CancellationScope.nonCancellable(async () => {
      await sleep(waitMs);
      then();
      this.wake();
    });
  }

  async #cancel(id: string): Promise<void> {
    try {
      await getExternalWorkflowHandle(id).cancel();
    } catch (error) {
      // It has ended by itself in the meantime; its report is on its way.
      log.info('a child was not there to be cancelled', { id, error: String(error) });
    }
  }

  #forget(id: string): void {
    this.#adopted.delete(id);
    this.#starts.delete(id);
  }

  #inFlight(): readonly Child[] {
    return [
      ...this.#board.trialsInFlight.map((index): Child => ({ kind: 'trial', index })),
      ...this.#board.gatesInFlight.map((task): Child => ({ kind: 'gate', task })),
    ];
  }

  #idOf(child: Child): string {
    return childWorkflowId(this.#input.sweep, child);
  }
}

/** The report of a child that ended without one: terminated from outside, or a defect of ours. */
function reportOfLost(child: Child, error: unknown): TrialReport | GateReport {
  const cause = error instanceof ChildWorkflowFailure ? (error.cause ?? error) : error;
  const message = `the workflow ended without a report: ${cause instanceof Error ? cause.message : String(cause)}`;
  if (child.kind === 'gate') {
    return isCancellation(error)
      ? { task: child.task, ended: { kind: 'cancelled' } }
      : { task: child.task, ended: { kind: 'unformed', failureClass: 'Unexpected', message } };
  }
  const failure = 'Unexpected';
  const outcome = { counts: false, ending: null, result: null, failure, generations: 0 } as const;
  return isCancellation(error)
    ? { index: child.index, outcome: null, message: null }
    : { index: child.index, outcome, message };
}
