// The workflow that runs is told of the concurrency, from when it listens.
import { WorkflowUpdateFailedError, type Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { expect, it } from 'vitest';
import { tellConcurrency } from '../../cli/sweep-workflow.ts';

const refusal = (message: string): WorkflowUpdateFailedError =>
  new WorkflowUpdateFailedError('Workflow Update failed', ApplicationFailure.nonRetryable(message));

/** A client whose updates come to `outcomes`, one after the other, then to good ends. */
function clientOf(outcomes: Error[]): { readonly client: Client; readonly asked: unknown[] } {
  const asked: unknown[] = [];
  const executeUpdate = (_: unknown, { args }: { readonly args: unknown }): Promise<void> => {
    asked.push(args);
    const outcome = outcomes.shift();
    return outcome === undefined ? Promise.resolve() : Promise.reject(outcome);
  };
  const client = {
    withAbortSignal: (_: AbortSignal, call: () => Promise<void>) => call(),
    workflow: { getHandle: () => ({ executeUpdate }) },
  };
  return { client: client as unknown as Client, asked };
}

async function tell(client: Client, signal = new AbortController().signal): Promise<string[]> {
  const said: string[] = [];
  await tellConcurrency(
    client,
    { sweep: 's', concurrency: 4 },
    { signal, say: (line) => void said.push(line) },
  );
  return said;
}

const early = (): Error => refusal('No registered handler for update: setConcurrency');

it('is told again where it does not listen yet, and nothing is said', async () => {
  const { client, asked } = clientOf([early(), early()]);
  expect(await tell(client)).toEqual([]);
  expect(asked).toEqual([[4], [4], [4]]);
});

it('is told no more once nobody waits for it', async () => {
  const endless = clientOf(Array.from({ length: 50 }, early));
  expect(await tell(endless.client, AbortSignal.timeout(700))).toEqual([]);
  expect(endless.asked.length).toBeLessThan(4);
});

it('has a line where it refuses the number', async () => {
  const { client, asked } = clientOf([refusal('concurrency is a whole number')]);
  expect(await tell(client)).toEqual([
    'the sweep that runs was not told of concurrency 4: concurrency is a whole number',
  ]);
  expect(asked).toHaveLength(1);
});
