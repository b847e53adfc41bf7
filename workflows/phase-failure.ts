// What a failed activity means: its class in the failure table, the phase it belongs to, and one line.
import { ActivityFailure, ApplicationFailure, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import type { Activities } from '../activities/types.ts';
import { failureClassOf, type FailureClass } from '../domain/failures.ts';

export interface PhaseFailure {
  readonly failureClass: FailureClass;
  /** The activity's name, or what it was at. */
  readonly phase: string;
  readonly message: string;
}

/** A phase's failure as its workflow learns of it. */
export interface PhaseEnd extends PhaseFailure {
  /** Tries of the activity that ended with it. */
  readonly tries: number;
}

/** Characters of a message that travel in reports. */
const messageLimit = 500;

/** What a phase that did not end in time is: the machine's, the engine's or the store's doing, never the agent's. */
const classOfTimeout: Partial<Record<keyof Activities | 'passBarrier', FailureClass>> = {
  readPlan: 'StoreUnavailable',
  readDone: 'StoreUnavailable',
  readTrial: 'StoreUnavailable',
  readGate: 'StoreUnavailable',
  recordVerdict: 'StoreUnavailable',
  recordFailure: 'StoreUnavailable',
  concludeGate: 'StoreUnavailable',
  beginSweep: 'PlatformUnavailable',
  prepareTask: 'ImagePullTransient',
  provision: 'SandboxUnschedulable',
  passBarrier: 'ExecBroken',
  takeDelta: 'ExecBroken',
  verify: 'ExecBroken',
};

function timeoutClassOf(phase: string): FailureClass {
  return Object.hasOwn(classOfTimeout, phase)
    ? (classOfTimeout[phase as keyof typeof classOfTimeout] ?? 'Unexpected')
    : 'Unexpected';
}

/** The failure of a phase. Anything else, cancellations and our own defects, is thrown again. */
export function phaseFailureOf(error: unknown): PhaseEnd {
  if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
  const cause = error.cause;
  if (cause instanceof TimeoutFailure) {
    const phase = phaseIn(cause.lastHeartbeatDetails) ?? error.activityType;
    return {
      failureClass: timeoutClassOf(phase),
      phase,
      message: `${phase} did not end in time (${cause.timeoutType})`,
      tries: 1,
    };
  }
  const told = cause instanceof ApplicationFailure ? cause : null;
  return {
    failureClass: failureClassOf(told?.type),
    phase: phaseIn(told?.details?.[0]) ?? error.activityType,
    message: (cause?.message ?? error.message).slice(0, messageLimit),
    tries: triesIn(told?.details?.[0]),
  };
}

/** What an activity's heartbeats and failures say that it was at. */
const phaseIn = (details: unknown): string | null =>
  typeof details === 'object' && details !== null && 'phase' in details && typeof details.phase === 'string'
    ? details.phase
    : null;

const triesIn = (details: unknown): number =>
  typeof details === 'object' &&
  details !== null &&
  'attempt' in details &&
  typeof details.attempt === 'number'
    ? details.attempt
    : 1;
