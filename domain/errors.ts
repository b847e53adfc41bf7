// The errors that cross rooms: a failure with a class of the table, bad input for a person to mend, a spoiled object.
import type { FailureClass } from './failures.ts';

/** A failure that its boundary could name. `retryAfterMs` is the delay that the other side asked for. */
export class ClassifiedError extends Error {
  readonly failureClass: FailureClass;
  readonly retryAfterMs: number | null;

  constructor(
    failureClass: FailureClass,
    message: string,
    options: { cause?: unknown; retryAfterMs?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ClassifiedError';
    this.failureClass = failureClass;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** Input that a person must mend: printed as one line (what, where, what to do), never with a stack. */
export class InputError extends Error {
  /** Process exit status: 2 bad flags or files, 78 bad configuration, 69 a service that is not there. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 2) {
    super(message);
    this.name = 'InputError';
    this.exitCode = exitCode;
  }
}

/**
 * One object of the store that is not what was written there, or is of another version. What stands on it fails, and
 * nothing else: unlike other bad input it says nothing of how passband was configured.
 */
export class ObjectError extends InputError {}
