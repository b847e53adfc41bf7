// What a sweep holds back while a model, the store or the platform is away. Pure: it starts and asks nothing itself.
import { failureTable, type FailureClass } from '../domain/failures.ts';
import type { Child, ParkReport } from './reports.ts';

/** What may be away: the store, the platform, or a model by its position in the plan. */
export type Away = 'store' | 'platform' | number;

/** A child without its place: [trial or gate, its position, what is away, its own wait in milliseconds]. */
export type Parked = readonly ['trial' | 'gate', number, Away, number];

/** What is paused, and why, in one line. */
export type Pause = readonly [Away, string];

export interface ParkingState {
  readonly parked: readonly Parked[];
  readonly paused: readonly Pause[];
  /** Positions of trials that have not begun because their model is away. */
  readonly held: readonly number[];
}

/**
 * Trials of a model that is away are passed over for those of the others, up to this many: they travel in the state, and
 * whatever is passed over is begun later than the plan's order has it.
 */
const heldLimit = 500;

const keyOf = (child: Child): string =>
  child.kind === 'trial' ? `trial ${child.index}` : `gate ${child.task}`;

const childOf = ([kind, position]: Parked): Child =>
  kind === 'trial' ? { kind, index: position } : { kind, task: position };

export interface Resumed {
  readonly child: Child;
  /** False: nothing is tried any more, it ends. */
  readonly goOn: boolean;
}

export class Parking {
  readonly #modelOf: (trial: number) => number;
  readonly #parked: Map<string, Parked>;
  /** Parked children whose own wait is over, in that order. */
  readonly #due = new Set<string>();
  readonly #paused: Map<Away, string>;
  readonly #held: Set<number>;

  /** `modelOf`: the model of the trial at a position of the plan's order. */
  constructor(
    modelOf: (trial: number) => number,
    state: ParkingState = { parked: [], paused: [], held: [] },
  ) {
    this.#modelOf = modelOf;
    this.#parked = new Map(state.parked.map((parked) => [keyOf(childOf(parked)), parked]));
    this.#paused = new Map(state.paused);
    this.#held = new Set(state.held);
  }

  snapshot(): ParkingState {
    return { parked: [...this.#parked.values()], paused: [...this.#paused], held: [...this.#held] };
  }

  /** Children that have given up their places. */
  get size(): number {
    return this.#parked.size;
  }

  get parkedTrials(): number {
    return [...this.#parked.values()].filter(([kind]) => kind === 'trial').length;
  }

  /** Parked children with the wait of each, in milliseconds. */
  get waits(): readonly (readonly [Child, number])[] {
    return [...this.#parked.values()].map((parked) => [childOf(parked), parked[3]]);
  }

  get paused(): readonly Pause[] {
    return [...this.#paused];
  }

  get holdsTrials(): boolean {
    return this.#held.size > 0;
  }

  /** Nothing at all may start. */
  get pausesAll(): boolean {
    return this.#paused.has('store') || this.#paused.has('platform');
  }

  /** No more trials may be passed over. */
  get full(): boolean {
    return this.#held.size >= heldLimit;
  }

  pausesTrial(trial: number): boolean {
    return this.#paused.has(this.#modelOf(trial));
  }

  /**
   * Books a child that has given up its place, once. Answers what is away with it where that was not known before,
   * null where it is paused already; undefined where the child is parked already.
   */
  park({ child, failureClass, message, waitMs }: ParkReport): Away | null | undefined {
    const key = keyOf(child);
    if (this.#parked.has(key)) return undefined;
    const away = this.#awayOf(child, failureClass);
    const position = child.kind === 'trial' ? child.index : child.task;
    this.#parked.set(key, [child.kind, position, away, waitMs]);
    if (this.#paused.has(away)) return null;
    this.#paused.set(away, message);
    return away;
  }

  /** A parked child's own wait is over. */
  waited(child: Child): void {
    const key = keyOf(child);
    if (this.#parked.has(key)) this.#due.add(key);
  }

  /** What was away is back. */
  back(away: Away): void {
    this.#paused.delete(away);
  }

  /** A child that ended while it was parked. */
  leaves(child: Child): void {
    this.#take(keyOf(child));
  }

  /** Takes a child that may have its place again; null where there is none. */
  next(): Resumed | null {
    for (const key of this.#due) {
      const parked = this.#parked.get(key);
      if (parked === undefined || this.#paused.has(parked[2])) continue;
      this.#take(key);
      return { child: childOf(parked), goOn: true };
    }
    return null;
  }

  /** Takes any child, to be told that nothing is tried any more. */
  nextToEnd(): Resumed | null {
    const [first] = this.#parked;
    if (first === undefined) return null;
    this.#take(first[0]);
    return { child: childOf(first[1]), goOn: false };
  }

  /** Passes a trial over until its model is back. */
  hold(trial: number): void {
    this.#held.add(trial);
  }

  /** A trial that was passed over and may begin; null where there is none. */
  nextHeld(): number | null {
    for (const trial of this.#held) if (!this.pausesTrial(trial)) return trial;
    return null;
  }

  begins(trial: number): void {
    this.#held.delete(trial);
  }

  #take(key: string): void {
    this.#parked.delete(key);
    this.#due.delete(key);
  }

  #awayOf(child: Child, failureClass: FailureClass): Away {
    const { owner } = failureTable[failureClass];
    if (owner === 'model' && child.kind === 'trial') return this.#modelOf(child.index);
    return owner === 'store' ? 'store' : 'platform';
  }
}
