// Walks the plan's order: leaves out what is done or rejected, and puts aside what waits for its task's gate.
import type { FailureClass } from '../domain/failures.ts';
import { countTrials, trialAt, type PlanShape } from '../domain/order.ts';
import type { GateMark } from './gate-marks.ts';

/** [first, how many] positions of the order. */
export type Run = readonly [number, number];

export interface CursorState {
  /** Position of the first trial that was never looked at. */
  readonly next: number;
  /** The store was asked about positions below it. */
  readonly knownUntil: number;
  /** Runs that have their verdicts, between `next` and `knownUntil`. */
  readonly done: readonly Run[];
  /** Runs before `next`, each of one task, that wait for that task's gate. */
  readonly deferred: readonly Run[];
}

export const newCursor: CursorState = { next: 0, knownUntil: 0, done: [], deferred: [] };

export type Taken =
  | { readonly kind: 'trial'; readonly index: number }
  /** A trial whose task has no gate, for this reason: it ends without having begun. */
  | { readonly kind: 'ungated'; readonly failureClass: FailureClass }
  /** The store must be asked about this stretch first. */
  | { readonly kind: 'unknown'; readonly first: number; readonly count: number }
  | { readonly kind: 'none' };

/** Trials asked for at once: the answer of the worst case stays under 6 KiB. */
const stretchTrials = 500;

const endOf = ([first, count]: Run): number => first + count;

export class TrialCursor {
  readonly #shape: PlanShape;
  readonly #total: number;
  #next: number;
  #knownUntil: number;
  #done: readonly Run[];
  #deferred: readonly Run[];

  constructor(shape: PlanShape, state: CursorState) {
    this.#shape = shape;
    this.#total = countTrials(shape);
    this.#next = state.next;
    this.#knownUntil = state.knownUntil;
    this.#done = state.done;
    this.#deferred = state.deferred;
  }

  get exhausted(): boolean {
    return this.#next >= this.#total && this.#deferred.length === 0;
  }

  snapshot(): CursorState {
    return {
      next: this.#next,
      knownUntil: this.#knownUntil,
      done: this.#done.filter((run) => endOf(run) > this.#next),
      deferred: this.#deferred,
    };
  }

  /** Learns which trials of the stretch before `until` are done. */
  know(until: number, done: readonly Run[]): void {
    this.#knownUntil = until;
    this.#done = [...this.#done.filter((run) => endOf(run) > this.#next), ...done];
  }

  /** Takes the next trial that may start, given the gates. */
  take(gateOf: (task: number) => GateMark): Taken {
    const put = this.#takeDeferred(gateOf);
    if (put !== null) return put;
    while (this.#next < this.#total) {
      if (this.#next >= this.#knownUntil) {
        const count = Math.min(stretchTrials, this.#total - this.#next);
        return { kind: 'unknown', first: this.#next, count };
      }
      const doneUntil = this.#doneUntil(this.#next);
      if (doneUntil !== null) {
        this.#next = doneUntil;
        continue;
      }
      const index = this.#next;
      const gate = gateOf(this.#taskAt(index));
      if (gate.kind === 'open') return { kind: 'none' };
      this.#next += 1;
      if (gate.kind === 'kept' || gate.kind === 'unaudited') return { kind: 'trial', index };
      if (gate.kind === 'unformed') return { kind: 'ungated', failureClass: gate.failureClass };
      if (gate.kind === 'inFlight') this.#defer(index);
    }
    return { kind: 'none' };
  }

  /**
   * The first task with an open gate among the next `tasks` tasks whose trials are to be started; null where there is
   * none. Tasks that are out already are no part of the way.
   */
  nextOpenTask(gateOf: (task: number) => GateMark, tasks: number): number | null {
    const ahead = new Set<number>();
    for (let index = this.#next; index < this.#knownUntil && ahead.size < tasks; index += 1) {
      if (this.#doneUntil(index) !== null) continue;
      const task = this.#taskAt(index);
      const { kind } = gateOf(task);
      if (kind === 'open') return task;
      if (kind !== 'rejected' && kind !== 'unformed') ahead.add(task);
    }
    return null;
  }

  #taskAt(index: number): number {
    return trialAt(this.#shape, index).task;
  }

  #doneUntil(index: number): number | null {
    const run = this.#done.find(([first, count]) => first <= index && index < first + count);
    return run === undefined ? null : endOf(run);
  }

  #defer(index: number): void {
    const last = this.#deferred.at(-1);
    const extends_ =
      last !== undefined && endOf(last) === index && this.#taskAt(last[0]) === this.#taskAt(index);
    this.#deferred = extends_
      ? [...this.#deferred.slice(0, -1), [last[0], last[1] + 1]]
      : [...this.#deferred, [index, 1]];
  }

  #takeDeferred(gateOf: (task: number) => GateMark): Taken | null {
    this.#deferred = this.#deferred.filter(([first]) => gateOf(this.#taskAt(first)).kind !== 'rejected');
    const at = this.#deferred.findIndex(([first]) => {
      const { kind } = gateOf(this.#taskAt(first));
      return kind !== 'inFlight' && kind !== 'open';
    });
    const run = this.#deferred[at];
    if (run === undefined) return null;
    const [index, count] = run;
    const rest: readonly Run[] = count > 1 ? [[index + 1, count - 1]] : [];
    this.#deferred = this.#deferred.toSpliced(at, 1, ...rest);
    const gate = gateOf(this.#taskAt(index));
    return gate.kind === 'unformed'
      ? { kind: 'ungated', failureClass: gate.failureClass }
      : { kind: 'trial', index };
  }
}
