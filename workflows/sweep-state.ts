// What a sweep carries from one run of its workflow to the next: bounded by its tasks and its window, never by its trials.
import type { FailureClass } from '../domain/failures.ts';
import type { PlanShape } from '../domain/order.ts';
import type { Stop, Tally } from './reports.ts';
import { emptyTally } from './tally.ts';
import type { ParkingState } from './parking.ts';
import { newCursor, type CursorState } from './trial-cursor.ts';
import { openMark } from './gate-marks.ts';

/** A trial between two generations: [position, generations begun, wait in milliseconds, why]. */
export type Waiting = readonly [number, number, number, FailureClass];

export interface SweepState {
  readonly shape: PlanShape;
  readonly concurrency: number;
  readonly cursor: CursorState;
  /** One character a task (gate-marks.ts). */
  readonly gates: string;
  /** [position, generations begun] of the trials in flight. */
  readonly inFlight: readonly (readonly [number, number])[];
  readonly waiting: readonly Waiting[];
  /** Absent: nothing was away. */
  readonly parking?: ParkingState;
  readonly tally: Tally;
  readonly stopped: Stop | null;
}

/** The state of a sweep that has not begun. */
export function newState(shape: PlanShape, concurrency: number): SweepState {
  return {
    shape,
    concurrency,
    cursor: newCursor,
    gates: openMark.repeat(shape.tasks),
    inFlight: [],
    waiting: [],
    tally: emptyTally,
    stopped: null,
  };
}
