// What the end of a worker process means: nothing yet, a fault that no new process mends, or one that returns too often.
import { ClassifiedError } from '../domain/errors.ts';

export interface WorkerDeath {
  /** Null where a signal ended it, or it could not be started. */
  readonly exitCode: number | null;
  /** `signal SIGKILL`, `exit status 70`. */
  readonly why: string;
  /** The last line that it wrote. */
  readonly lastWords: string;
}

/** A worker that dies more often than this within a minute will not live. */
const restartsAMinute = 5;
/** Bad flags, bad configuration: they are the same for the next process. */
const operatorStatuses: readonly (number | null)[] = [2, 78];
/** A server, store or engine that is not there. */
const unavailableStatus = 69;

/** Null: another process may go on. `deathsInAMinute` counts this one. */
export function failureOfDeaths(death: WorkerDeath, deathsInAMinute: number): ClassifiedError | null {
  const { exitCode, why } = death;
  const lastWords = death.lastWords === '' ? 'it said nothing' : death.lastWords;
  if (operatorStatuses.includes(exitCode)) {
    return new ClassifiedError('ConfigInvalid', `the worker cannot start (${why}): ${lastWords}`);
  }
  if (deathsInAMinute <= restartsAMinute) return null;
  // A signal is the machine's (its memory, say) or a person's; any other status is a defect of ours.
  const outside = exitCode === null || exitCode === unavailableStatus;
  return new ClassifiedError(
    outside ? 'PlatformUnavailable' : 'Unexpected',
    `the worker ended ${deathsInAMinute} times within a minute (${why}): ${lastWords}`,
  );
}
