// What a command says of a sweep's workflow that failed: the class that it failed as, and one line.
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { failureOfWorkflow, stoppedError } from '../../cli/follow.ts';
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
