// The sweep's book: what may start next, what is in flight, what was counted. Pure: it starts nothing itself.
import type { DoneTrials } from '../activities/types.ts';
import { failureTable, type FailureClass, type RejectionReason } from '../domain/failures.ts';
import { countTrials, trialAt, type PlanShape } from '../domain/order.ts';
import { inFlightMark, markOf, openMark, readMark, type GateMark } from './gate-marks.ts';
import { waitBeforeNextMs } from './generations.ts';
import { Parking, type Away, type Resumed } from './parking.ts';
import type { GateReport, ParkReport, Stop, SweepProgress, Tally, TrialReport } from './reports.ts';
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
 * Trials that may wait for a next generation, or without a place, before no new ones start: when so many fail at once it
 * is the platform that fails, and starting more would only use up their generations.
 */
const waitingLimit = 100;

export class SweepBoard {
  readonly parking: Parking;
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
    this.parking = new Parking((trial) => trialAt(this.#shape, trial).model, state.parking);
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
      parking: this.parking.snapshot(),
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

  get isStopped(): boolean {
    return this.#stopped !== null;
  }

  /** Nothing is in flight, and nothing is left that may start. */
  get finished(): boolean {
    if (this.#inFlight.size + this.gatesInFlight.length > 0) return false;
    if (this.#stopped !== null) return true;
    if (this.#gatesOnly) return !this.#gates.includes(openMark);
    return this.#waiting.size === 0 && !this.parking.holdsTrials && this.#cursor.exhausted;
  }

  /** What to start now; null where the window is full or everything waits for something. */
  nextStart(): Start | null {
    if (this.#stopped !== null || this.#used >= this.#concurrency || this.parking.pausesAll) return null;
    const begun = this.#nextDue() ?? this.parking.nextHeld();
    if (begun !== null) return { kind: 'trial', index: begun };
    const task = this.#nextGate();
    if (task !== null) return { kind: 'gate', task };
    const tooMany = this.#waiting.size + this.parking.size >= waitingLimit || this.parking.full;
    return this.#gatesOnly || tooMany ? null : this.#nextTrial();
  }

  /** Takes what was parked and has its place again, or has to end; null where there is nothing. */
  nextResumed(): Resumed | null {
    if (this.#stopped !== null) return this.parking.nextToEnd();
    return this.#used < this.#concurrency ? this.parking.next() : null;
  }

  /** Books a start as in flight. */
  begin(start: Start): void {
    if (start.kind === 'gate') this.#gates[start.task] = inFlightMark;
    if (start.kind !== 'trial') return;
    const tries = this.#waiting.get(start.index)?.[1] ?? 0;
    this.#waiting.delete(start.index);
    this.#due.delete(start.index);
    this.parking.begins(start.index);
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
    this.parking.leaves({ kind: 'trial', index });
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

  /**
   * Books a child that has given up its place, once. Answers what has to be asked whether it is back, null where that is
   * asked already; undefined where this is no news: parked already, or no child in flight.
   */
  parked(report: ParkReport): Away | null | undefined {
    const { child } = report;
    const inFlight =
      child.kind === 'trial' ? this.#inFlight.has(child.index) : this.#gates[child.task] === inFlightMark;
    return inFlight ? this.parking.park(report) : undefined;
  }

  /** A trial's wait is over. */
  waited(index: number): void {
    if (this.#waiting.has(index)) this.#due.add(index);
  }

  /** Books a gate's end, once. */
  gateEnded({ task, ended }: GateReport): void {
    if (this.#gates[task] !== inFlightMark) return;
    this.#gates[task] = markOf(ended);
    this.parking.leaves({ kind: 'gate', task });
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
      inFlight: this.#inFlight.size - this.parking.parkedTrials,
      waiting: this.#waiting.size,
      parked: this.parking.size,
      paused: this.parking.paused.map(([, line]) => line),
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
    return this.#inFlight.size + this.gatesInFlight.length - this.parking.size;
  }

  /** A trial whose wait for its next generation is over. */
  #nextDue(): number | null {
    for (const index of this.#due) if (!this.parking.pausesTrial(index)) return index;
    return null;
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
          if (!this.parking.pausesTrial(taken.index)) return taken;
          this.parking.hold(taken.index);
          if (this.parking.full) return null;
          break;
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
