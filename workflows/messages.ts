// What workflows and their callers say to each other: names, ids, inputs, queries, signals, updates.
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Ref } from '../domain/refs.ts';
import { gateWorkflowId, trialWorkflowId } from '../domain/workflow-ids.ts';
import type { Child, GateReport, ParkReport, SweepProgress, TrialReport } from './reports.ts';
import type { SweepState } from './sweep-state.ts';

/** The one queue that workers listen on and everything is put on. */
export const taskQueue = 'passband';

export { gateWorkflowId, sweepWorkflowId, trialWorkflowId } from '../domain/workflow-ids.ts';

/** Trials that may be in flight at once: the server allows 2,000 pending children, and the state travels. */
export const concurrencyLimit = 1_000;

export interface SweepInput {
  readonly sweep: string;
  readonly plan: Ref;
  /** The gates alone, and no trial. */
  readonly gatesOnly: boolean;
  /** When the budget ends, in milliseconds since the epoch; absent: there is none. */
  readonly deadlineMs?: number;
  /** Where the run before this one stopped; null at the start. */
  readonly carried: SweepState | null;
}

export interface TrialInput {
  readonly sweep: string;
  readonly plan: Ref;
  /** Position in the plan's order. */
  readonly index: number;
  readonly deadlineMs?: number;
}

export interface GateInput {
  readonly sweep: string;
  readonly plan: Ref;
  readonly task: number;
}

/** The workflow id of a child of this sweep. */
export const childWorkflowId = (sweep: string, child: Child): string =>
  child.kind === 'trial' ? trialWorkflowId(sweep, child.index) : gateWorkflowId(sweep, child.task);

/** Null until the plan is read. */
export const progressQuery = defineQuery<SweepProgress | null>('progress');
/** Answers the new value. Lowered: what runs goes on, nothing new starts until the window has room. */
export const setConcurrencyUpdate = defineUpdate<number, [number]>('setConcurrency');
/** Nothing new starts, what runs ends. The argument says why. */
export const stopSignal = defineSignal<[string]>('stop');
export const trialEndedSignal = defineSignal<[TrialReport]>('trialEnded');
export const gateEndedSignal = defineSignal<[GateReport]>('gateEnded');
/** A child gives up its place in the window until it is told to go on. Said again where no answer comes. */
export const parkedSignal = defineSignal<[ParkReport]>('parked');
/** To a parked child. True: it has its place again. False: nothing is tried any more, and it ends by what it was parked for. */
export const resumeSignal = defineSignal<[boolean]>('resume');
