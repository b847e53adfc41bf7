// What a command says of a sweep's workflow that failed: the class that it failed as, and one line.
import { ServiceError, WorkflowFailedError, type Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { failureOfWorkflow, followSweep, followWhileServed, stoppedError } from '../../cli/follow.ts';
import { describeError } from '../../cli/output.ts';

const failedAs = (type: string, message: string): WorkflowFailedError =>
  new WorkflowFailedError('failed', ApplicationFailure.nonRetryable(message, type), 'NON_RETRYABLE_FAILURE');

test.each([
  ['EgressUnprovable', 2],
  ['ConfigInvalid', 2],
  ['StoreUnavailable', 69],
])('a sweep that failed as %s before it began is told as that, its class once', (name, exitCode) => {
  const failure = failureOfWorkflow(failedAs(name, `${name}: beginSweep: the canary does not answer`));
  expect(describeError(failure)).toEqual({
    line: `${name}: beginSweep: the canary does not answer`,
    exitCode,
  });
});

test('one that failed otherwise is unexpected', () => {
  const failure = failureOfWorkflow(failedAs('TypeError', 'x is not a function'));
  expect(failure).toMatchObject({
    failureClass: 'Unexpected',
    message: "the sweep's workflow ended: x is not a function",
  });
});

test('a sweep that was stopped is told as its class, once', () => {
  const stopped = stoppedError('EgressOpen', 'EgressOpen: passBarrier: the store answered');
  expect(describeError(stopped).line).toBe('EgressOpen: passBarrier: the store answered');
});

const quietView = { say: () => {}, update: () => {}, end: () => {} };

/** A client whose workflow answers no query; its result is what `result` says, unless the call is given up. */
function clientWith(result: () => Promise<unknown>): Client {
  let given: AbortSignal | null = null;
  const orGivenUp = (): Promise<never> =>
    new Promise((_, reject) => {
      given?.addEventListener('abort', () => reject(new ServiceError('given up')), { once: true });
    });
  return {
    withAbortSignal: <T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> => {
      given = signal;
      return call();
    },
    workflow: {
      getHandle: () => ({
        query: () => Promise.reject(new ServiceError('Failed to query Workflow')),
        result: () => Promise.race([result(), orGivenUp()]),
      }),
    },
  } as unknown as Client;
}

test('a server that is gone is a service that is not there', async () => {
  const cause = new Error('14 UNAVAILABLE: No connection established');
  const gone = clientWith(() =>
    Promise.reject(new ServiceError('Failed to get Workflow execution history', { cause })),
  );
  const error: unknown = await followSweep(gone, 's', quietView, new AbortController().signal).catch(
    (thrown: unknown) => thrown,
  );
  expect(describeError(error)).toEqual({
    line: 'the Temporal server of sweep s does not answer any more (14 UNAVAILABLE: No connection established): the sweep goes on where it is back',
    exitCode: 69,
  });
});

test('following ends as soon as nobody serves the sweep any more', async () => {
  const asked: boolean[] = [];
  const served = (): Promise<boolean> => Promise.resolve(asked.push(true) < 2);
  const end = await followWhileServed(
    clientWith(() => new Promise(() => {})),
    's',
    { view: quietView, signal: new AbortController().signal, served },
  );
  expect(end).toEqual({ gone: true });
});

test('following a sweep that is served to its end ends with it', async () => {
  const end = await followWhileServed(
    clientWith(() => Promise.resolve({ counted: 1 })),
    's',
    { view: quietView, signal: new AbortController().signal, served: () => Promise.resolve(true) },
  );
  expect(end).toEqual({ gone: false });
});

test('following that a person ends is not taken for a server that is gone', async () => {
  const stop = new AbortController();
  const following = followWhileServed(
    clientWith(() => new Promise(() => {})),
    's',
    { view: quietView, signal: stop.signal, served: () => Promise.resolve(true) },
  );
  stop.abort();
  expect(await following).toEqual({ gone: false });
});
