// What a Temporal server says of a workflow, on a real one.
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startTemporal } from '../../embedded/temporal.ts';
import { workflowStates } from '../../worker/workflow-states.ts';

test('C42: a workflow runs until it is ended, and one that was never started is unknown', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'passband-states-'));
  const server = await startTemporal({ dir, binary: null, env: process.env, note: () => undefined });
  const native = await NativeConnection.connect({ address: server.address });
  const connection = await Connection.connect({ address: server.address });
  try {
    const stateOf = workflowStates(native, 'default');
    const { workflow } = new Client({ connection });
    const handle = await workflow.start('trial', { workflowId: 'trial-s-0', taskQueue: 'nobody', args: [] });
    expect(await stateOf('trial-s-0')).toBe('running');
    await handle.terminate('by hand');
    expect(await stateOf('trial-s-0')).toBe('closed');
    expect(await stateOf('trial-s-1')).toBe('unknown');
  } finally {
    await connection.close();
    await native.close();
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  }
});
