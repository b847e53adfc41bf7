// The sweep's book: what may start next, what is in flight, what was counted. Pure: it starts nothing itself.
import type { DoneTrials } from '../activities/types.ts';
import { failureTable, type FailureClass, type RejectionReason } from '../domain/failures.ts';
import { countTrials, type PlanShape } from '../domain/order.ts';
import { inFlightMark, markOf, openMark, readMark, type GateMark } from './gate-marks.ts';
import { waitBeforeNextMs } from './generations.ts';
import type { GateReport, Stop, SweepProgress, Tally, TrialReport } from './reports.ts';
import type { SweepState, Waiting } from './sweep-state.ts';
import { addCancelled, addDone, addFailure, addLostGeneration, addVerdict } from './tally.ts';
import { TrialCursor } from './trial-cursor.ts';

export type Start =
  | { readonly kind: 'gate'; readonly task: number }
  | { readonly kind: 'trial'; readonly index: number }
  /** First ask the store which trials of this stretch are done. */
  | { readonly kind: 'ask'; readonly first: number; readonly count: number };

/** Gates at once: they build images, which a machine does a few at a time; half of the window is left to trials. */
const gatesLimit = 8;
/**
 * Trials that may wait for a next generation before no new ones start: when so many fail at once it is the platform
 * that fails, and starting more would only use up their generations.
 */
const waitingLimit = 100;

export class SweepBoard {
  readonly #name: string;
  readonly #gatesOnly: boolean;
  readonly #shape: PlanShape;
  readonly #cursor: TrialCursor;
  readonly #gates: string[];
  readonly #inFlight: Map<number, number>;
  readonly #waiting: Map<number, Waiting>;
  /** Waiting trials whose wait is over, in that order. */
  readonly #due = new Set<number>();
  #tally: Tally;
  #concurrency: number;
  #stopped: Stop | null;

  constructor(name: string, gatesOnly: boolean, state: SweepState) {
    this.#name = name;
    this.#gatesOnly = gatesOnly;
    this.#shape = state.shape;
    this.#cursor = new TrialCursor(state.shape, state.cursor);
    this.#gates = Array.from(state.gates);
    this.#inFlight = new Map(state.inFlight);
    this.#waiting = new Map(state.waiting.map((waiting) => [waiting[0], waiting]));
    this.#tally = state.tally;
    this.#concurrency = state.concurrency;
    this.#stopped = state.stopped;
  }

  /** Everything that the next run needs. */
  snapshot(): SweepState {
    return {
      shape: this.#shape,
      concurrency: this.#concurrency,
      cursor: this.#cursor.snapshot(),
      gates: this.#gates.join(''),
      inFlight: [...this.#inFlight],
      waiting: [...this.#waiting.values()],
      tally: this.#tally,
      stopped: this.#stopped,
    };
  }

  get trialsInFlight(): readonly number[] {
    return [...this.#inFlight.keys()];
  }

  get gatesInFlight(): readonly number[] {
    return this.#gates.flatMap((mark, task) => (mark === inFlightMark ? [task] : []));
  }

  get waiting(): readonly Waiting[] {
    return [...this.#waiting.values()];
  }

  /** Nothing is in flight, and nothing is left that may start. */
  get finished(): boolean {
    if (this.#used > 0) return false;
    if (this.#stopped !== null) return true;
    if (this.#gatesOnly) return !this.#gates.includes(openMark);
    return this.#waiting.size === 0 && this.#cursor.exhausted;
  }

  /** What to start now; null where the window is full or everything waits for something. */
  nextStart(): Start | null {
    if (this.#stopped !== null || this.#used >= this.#concurrency) return null;
    const [due] = this.#due;
    if (due !== undefined) return { kind: 'trial', index: due };
    const task = this.#nextGate();
    if (task !== null) return { kind: 'gate', task };
    return this.#gatesOnly || this.#waiting.size >= waitingLimit ? null : this.#nextTrial();
  }

  /** Books a start as in flight. */
  begin(start: Start): void {
    if (start.kind === 'gate') this.#gates[start.task] = inFlightMark;
    if (start.kind !== 'trial') return;
    const tries = this.#waiting.get(start.index)?.[1] ?? 0;
    this.#waiting.delete(start.index);
    this.#due.delete(start.index);
    this.#inFlight.set(start.index, tries + 1);
  }

  /** Books the store's answer about the stretch before `until`. */
  know(until: number, done: DoneTrials): void {
    this.#cursor.know(until, done.runs);
    this.#tally = addDone(this.#tally, done);
  }

  /** Books a trial's end, once. Answers the wait before its next generation in milliseconds, null where there is none. */
  trialEnded({ index, outcome, message, interrupted = false }: TrialReport): number | null {
    const tries = this.#inFlight.get(index);
    if (tries === undefined) return null;
    this.#inFlight.delete(index);
    if (outcome === null) {
      this.#tally = addCancelled(this.#tally);
      return null;
    }
    if (outcome.counts) {
      this.#tally = addVerdict(this.#tally, outcome);
      return null;
    }
    const failureClass = outcome.failure ?? 'Unexpected';
    this.#stopWhereTold(failureClass, message);
    // What a command of ours interrupted is no try of the trial's, and nothing that needs time to mend.
    const waitMs = interrupted ? 0 : waitBeforeNextMs(failureClass, tries, `${this.#name}/${index}`);
    if (waitMs === null || this.#stopped !== null) {
      this.#tally = addFailure(this.#tally, failureClass);
      return null;
    }
    this.#tally = addLostGeneration(this.#tally, failureClass);
    this.#waiting.set(index, [index, interrupted ? tries - 1 : tries, waitMs, failureClass]);
    return waitMs;
  }

  /** A trial's wait is over. */
  waited(index: number): void {
    if (this.#waiting.has(index)) this.#due.add(index);
  }

  /** Books a gate's end, once. */
  gateEnded({ task, ended }: GateReport): void {
    if (this.#gates[task] !== inFlightMark) return;
    this.#gates[task] = markOf(ended);
    if (ended.kind === 'unformed') this.#stopWhereTold(ended.failureClass, ended.message);
  }

  setConcurrency(concurrency: number): void {
    this.#concurrency = concurrency;
  }

  /** Nothing starts any more; what waited for another generation ends as what it was lost for. The first reason stands. */
  stop(stop: Stop): void {
    if (this.#stopped !== null) return;
    this.#stopped = stop;
    for (const [, , , failureClass] of this.#waiting.values()) {
      this.#tally = addFailure(this.#tally, failureClass);
    }
    this.#waiting.clear();
    this.#due.clear();
  }

  progress(): SweepProgress {
    const marks = this.#gates.map((mark) => readMark(mark));
    const gatesOf = (kind: GateMark['kind']): number => marks.filter((mark) => mark.kind === kind).length;
    const rejected: Partial<Record<RejectionReason, number[]>> = {};
    const unformed: Partial<Record<FailureClass, number[]>> = {};
    for (const [task, mark] of marks.entries()) {
      if (mark.kind === 'rejected') (rejected[mark.reason] ??= []).push(task);
      if (mark.kind === 'unformed') (unformed[mark.failureClass] ??= []).push(task);
    }
    const perTask = countTrials({ ...this.#shape, tasks: 1 });
    return {
      ...this.#tally,
      planned: perTask * (this.#shape.tasks - gatesOf('rejected')),
      inFlight: this.#inFlight.size,
      waiting: this.#waiting.size,
      concurrency: this.#concurrency,
      gates: {
        open: gatesOf('open'),
        inFlight: gatesOf('inFlight'),
        kept: gatesOf('kept'),
        unaudited: gatesOf('unaudited'),
      },
      rejected,
      unformed,
      stopped: this.#stopped,
    };
  }

  get #used(): number {
    return this.#inFlight.size + this.gatesInFlight.length;
  }

  readonly #gateOf = (task: number): GateMark => readMark(this.#gates[task]);

  #nextGate(): number | null {
    const atOnce = Math.max(1, Math.min(gatesLimit, Math.ceil(this.#concurrency / 2)));
    if (this.gatesInFlight.length >= atOnce || !this.#gates.includes(openMark)) return null;
    if (this.#gatesOnly) return this.#gates.indexOf(openMark);
    // Ahead of the trials by twice what runs at once, so that a trial seldom waits for its gate.
    return this.#cursor.nextOpenTask(this.#gateOf, 2 * atOnce);
  }

  #nextTrial(): Start | null {
    for (;;) {
      const taken = this.#cursor.take(this.#gateOf);
      switch (taken.kind) {
        case 'trial':
          return taken;
        case 'unknown':
          return { kind: 'ask', first: taken.first, count: taken.count };
        case 'none':
          return null;
        case 'ungated':
          this.#tally = addFailure(this.#tally, taken.failureClass);
      }
    }
  }

  #stopWhereTold(failureClass: FailureClass, message: string | null): void {
    if (!failureTable[failureClass].stopsSweep) return;
    this.stop({ failureClass, line: `${failureClass}: ${message ?? 'no reason was given'}` });
  }
}
