// What a trial and a gate tell their sweep, and what the sweep tells people.
import type { GateSummary, TrialOutcome } from '../activities/types.ts';
import type { Ending, FailureClass, RejectionReason, Result } from '../domain/failures.ts';

/** A trial or a gate, as its sweep knows it. */
export type Child =
  { readonly kind: 'trial'; readonly index: number } | { readonly kind: 'gate'; readonly task: number };

/** What a child waits for without a place in the window, told to its sweep. */
export interface ParkReport {
  readonly child: Child;
  /** One that the same activity is asked again for (failure table). */
  readonly failureClass: FailureClass;
  /** One line for a person. */
  readonly message: string;
  /** How long it would wait by itself, in milliseconds. */
  readonly waitMs: number;
}

/** How one generation of a trial ended, told to its sweep. */
export interface TrialReport {
  readonly index: number;
  /** Null: it was cancelled. */
  readonly outcome: TrialOutcome | null;
  /** What went wrong, in one line; null where a verdict was formed. */
  readonly message: string | null;
  /** Its sandbox was removed by a command of ours that ended early; absent: it was not. */
  readonly interrupted?: boolean;
}

/** How a task's gate ended, told to its sweep. */
export interface GateReport {
  readonly task: number;
  readonly ended:
    | { readonly kind: 'formed'; readonly summary: GateSummary }
    | { readonly kind: 'unformed'; readonly failureClass: FailureClass; readonly message: string }
    | { readonly kind: 'cancelled' };
}

/** Why no more trials are started. */
export interface Stop {
  /** Null: an operator asked for it. */
  readonly failureClass: FailureClass | null;
  /** One line for a person. */
  readonly line: string;
}

/** Trials by what became of them. */
export interface Tally {
  /** Trials with a verdict, those of earlier runs of this sweep included. */
  readonly counted: number;
  readonly endings: Readonly<Partial<Record<Ending, number>>>;
  readonly results: Readonly<Partial<Record<Result, number>>>;
  /** Trials that ended without a verdict, by class. */
  readonly failures: Readonly<Partial<Record<FailureClass, number>>>;
  /** Generations that were lost and begun anew, by class. */
  readonly lostGenerations: Readonly<Partial<Record<FailureClass, number>>>;
  readonly cancelled: number;
}

/** How a sweep stands: the answer of its query, and its result when it ends. */
export interface SweepProgress extends Tally {
  /** Trials of all tasks that are not rejected so far. */
  readonly planned: number;
  /** Trials that hold a place in the window. */
  readonly inFlight: number;
  /** Trials that wait for their next generation: they hold no place in the window. */
  readonly waiting: number;
  /** Trials and gates that wait for a model, the store or the platform to be back: they hold no place either. */
  readonly parked: number;
  /** What is away and nothing is started for until it is back: a line each. */
  readonly paused: readonly string[];
  readonly concurrency: number;
  readonly gates: {
    readonly open: number;
    readonly inFlight: number;
    readonly kept: number;
    readonly unaudited: number;
  };
  /** Task positions by the reason of their rejection. */
  readonly rejected: Readonly<Partial<Record<RejectionReason, readonly number[]>>>;
  /** Task positions whose gate could not be formed, by failure class. */
  readonly unformed: Readonly<Partial<Record<FailureClass, readonly number[]>>>;
  readonly stopped: Stop | null;
}
