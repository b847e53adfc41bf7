// What a failed activity says to its workflow: an ApplicationFailure whose type is a class of the failure table.
import { ApplicationFailure } from '@temporalio/common';
import { activityBackoff, askedBackoff, fullJitterMs, triesInPlace } from '../domain/backoff.ts';
import { ClassifiedError, InputError, ObjectError } from '../domain/errors.ts';
import { failureTable, type FailureClass } from '../domain/failures.ts';
import { SandboxGone } from '../sandbox/port.ts';

/** Bytes of a message that go into a workflow's history. */
const messageLimitBytes = 2_048;

export interface Attempt {
  /** Which try of the activity failed, from 1. */
  readonly attempt: number;
  /** In [0, 1): where in the backoff's range this wait lies. */
  readonly unit: number;
  /** What the activity was at. */
  readonly phase: string;
  /** Whoever asks holds a place in the window meanwhile, and gives it up after `triesInPlace` tries. */
  readonly holdsPlace: boolean;
}

/**
 * The failure by the table: the class as its type, retried by the server only where the table says that the same
 * activity is asked again, after a wait with full jitter or the one that the other side asked for. A cluster that has no
 * room is waited for in place: whoever gave up its place would only let another one ask for the same room.
 */
export function failureOf(error: unknown, made: Attempt): ApplicationFailure {
  const { attempt, phase } = made;
  const failureClass = classOf(error);
  const asked = error instanceof ClassifiedError ? error.retryAfterMs : null;
  const waitsForRoom = failureClass === 'PlatformUnavailable' && asked !== null;
  const inPlace = !made.holdsPlace || waitsForRoom || attempt < triesInPlace;
  const retried = failureTable[failureClass].retry === 'activity' && inPlace;
  return ApplicationFailure.create({
    message: bounded(messageOf(error)),
    type: failureClass,
    details: [{ phase, attempt }],
    nonRetryable: !retried,
    ...(retried ? { nextRetryDelay: waitOf(asked, made) } : {}),
  });
}

/** Whoever asks for a second and refuses again and again is asked less often than that; a number of tries is to last. */
function waitOf(asked: number | null, { attempt, unit }: Pick<Attempt, 'attempt' | 'unit'>): number {
  if (asked === null) return fullJitterMs(activityBackoff, attempt, unit);
  return Math.max(asked, fullJitterMs(askedBackoff, attempt, unit));
}

/** The class of any error: what no boundary has named is `Unexpected`. */
export function classOf(error: unknown): FailureClass {
  if (error instanceof ClassifiedError) return error.failureClass;
  // An end that the sandbox brought on itself is dealt with by the phase; one that reaches this is a phase's defect.
  if (error instanceof SandboxGone) {
    return error.state.kind === 'gone' && error.state.cause === 'self' ? 'Unexpected' : 'SandboxLost';
  }
  // One spoiled object is the failure of what stands on it. Only bad input of an operator stops the sweep.
  if (error instanceof ObjectError) return 'Unexpected';
  return error instanceof InputError ? 'ConfigInvalid' : 'Unexpected';
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const named =
    error instanceof ClassifiedError || error instanceof InputError || error instanceof SandboxGone;
  return named ? error.message : `${error.name}: ${error.message}`;
}

function bounded(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.byteLength <= messageLimitBytes) return message;
  const half = messageLimitBytes / 2 - 4;
  return `${bytes.subarray(0, half).toString()} … ${bytes.subarray(-half).toString()}`;
}
