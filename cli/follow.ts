// Follows a sweep's workflow to its end: polls its progress, shows it, answers its last word.
import { ServiceError, WorkflowFailedError, WorkflowNotFoundError, type Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClassifiedError, InputError } from '../domain/errors.ts';
import { failureClassOf, type FailureClass } from '../domain/failures.ts';
import { progressQuery, sweepWorkflowId } from '../workflows/messages.ts';
import type { SweepProgress } from '../workflows/reports.ts';
import { exitCodes } from './output.ts';
import type { ProgressView } from './progress.ts';

const pollMs = 1_000;
/** That long without an answer is worth a line, and again each time that long has passed. */
const quietMs = 15_000;

/** What the server, or the way to it, said: in one line. */
export function serviceFault({ cause, message }: ServiceError): string {
  const [line = ''] = (cause instanceof Error ? cause.message : message).split('\n');
  return line;
}

/** The server that ran a sweep is not there any more. */
class ServerGoneError extends InputError {
  constructor(sweep: string, error: ServiceError) {
    super(
      `the Temporal server of sweep ${sweep} does not answer any more (${serviceFault(error)}): the sweep goes on where it is back`,
      exitCodes.unavailable,
    );
    this.name = 'ServerGoneError';
  }
}

/** The progress of a sweep that this server runs; null where it does not, or has not read the plan yet. */
export async function readProgress(client: Client, sweep: string): Promise<SweepProgress | null> {
  if (!(await isRunning(client, sweep))) return null;
  return await client.workflow.getHandle(sweepWorkflowId(sweep)).query(progressQuery);
}

/** Whether the server runs this sweep now. */
export async function isRunning(client: Client, sweep: string): Promise<boolean> {
  try {
    const { status } = await client.workflow.getHandle(sweepWorkflowId(sweep)).describe();
    return status.name === 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** One call that is given up when `signal` aborts. */
async function ask<T>(client: Client, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  // A signal of its own: the client listens on it for good.
  const asking = new AbortController();
  const giveUp = (): void => asking.abort();
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await client.withAbortSignal(asking.signal, call);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/**
 * Follows until the workflow ends or `signal` aborts. When it is settled no call is left on the client's connection:
 * one that is tried again on a closed connection ends the process.
 * @returns what the sweep has come to; null where it was aborted here or cancelled elsewhere.
 * @throws ClassifiedError where the workflow failed; InputError (exit 69) where the server is gone.
 */
export async function followSweep(
  client: Client,
  sweep: string,
  view: ProgressView,
  signal: AbortSignal,
): Promise<SweepProgress | null> {
  const handle = client.workflow.getHandle(sweepWorkflowId(sweep));
  const ended = new AbortController();
  const end = (): void => ended.abort();
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  const quiet = whenQuiet(() =>
    view.say(
      'no answer about the sweep for 15 s: no worker is listening, it hangs, or the server is away; what runs in sandboxes goes on',
    ),
  );
  const poll = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      try {
        const progress = await ask(client, ended.signal, () => handle.query(progressQuery));
        if (progress !== null) view.update(progress);
        quiet.answered();
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return;
      }
      await sleep(pollMs, undefined, { signal: ended.signal }).catch(() => {});
    }
  };
  const polling = poll();
  try {
    return await ask(client, ended.signal, () => handle.result() as Promise<SweepProgress>);
  } catch (error) {
    if (signal.aborted) return null;
    if (error instanceof ServiceError) throw new ServerGoneError(sweep, error);
    if (!(error instanceof WorkflowFailedError)) throw error;
    if (error.cause?.name === 'CancelledFailure') return null;
    throw failureOfWorkflow(error);
  } finally {
    signal.removeEventListener('abort', end);
    end();
    quiet.off();
    view.end();
    await polling;
  }
}

/**
 * Follows a sweep whose server another command runs, as long as `served` says that it does.
 * @returns whether that command was ended before the sweep was.
 * @throws ClassifiedError as `followSweep` does.
 */
export async function followWhileServed(
  client: Client,
  sweep: string,
  {
    view,
    signal,
    served,
  }: {
    readonly view: ProgressView;
    readonly signal: AbortSignal;
    readonly served: () => Promise<boolean>;
  },
): Promise<{ readonly gone: boolean }> {
  const over = new AbortController();
  const following = followSweep(client, sweep, view, AbortSignal.any([signal, over.signal])).then(
    () => ({ gone: false }),
    (error: unknown) => {
      if (error instanceof ServerGoneError) return { gone: true };
      throw error;
    },
  );
  const watching = whenUnserved(served, over.signal).then(() => ({ gone: true }));
  try {
    return await Promise.race([following, watching]);
  } finally {
    over.abort();
    await Promise.allSettled([following, watching]);
  }
}

async function whenUnserved(served: () => Promise<boolean>, over: AbortSignal): Promise<void> {
  while (!over.aborted && (await served())) await sleep(pollMs, undefined, { signal: over }).catch(() => {});
}

/** Calls `onQuiet` each time that `answered` was not called for a while; a question that hangs counts too. */
function whenQuiet(onQuiet: () => void): { readonly answered: () => void; readonly off: () => void } {
  const timer = setInterval(onQuiet, quietMs);
  return {
    answered: () => {
      timer.refresh();
    },
    off: () => clearInterval(timer),
  };
}

/** What stopped a sweep, from the class and the line that its workflow says: the line begins with the class. */
export const stoppedError = (failureClass: FailureClass, line: string): ClassifiedError =>
  new ClassifiedError(
    failureClass,
    line.startsWith(`${failureClass}: `) ? line.slice(failureClass.length + 2) : line,
  );

/** Of one that failed before it began the class is the failure's own; any other end is nothing that we know. */
export function failureOfWorkflow(error: WorkflowFailedError): ClassifiedError {
  const { cause } = error;
  const failureClass = failureClassOf(cause instanceof ApplicationFailure ? cause.type : null);
  const line = cause?.message ?? error.message;
  return failureClass === 'Unexpected'
    ? new ClassifiedError(failureClass, `the sweep's workflow ended: ${line}`, { cause: error })
    : stoppedError(failureClass, line);
}
