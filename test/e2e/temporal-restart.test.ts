// The Temporal server dies in the middle of a sweep: another one goes on from its database.
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startTemporal, type EmbeddedTemporal } from '../../embedded/temporal.ts';
import type { SweepProgress } from '../../workflows/reports.ts';
import { sweep } from '../../workflows/sweep.ts';
import { fakeWorld, planRef } from '../support/fake-activities.ts';
import { heldEpisodes } from '../support/held-episodes.ts';
import { startTestTemporal, type TestTemporal } from '../support/temporal-environment.ts';

async function join(server: EmbeddedTemporal): Promise<TestTemporal> {
  return await startTestTemporal(
    await TestWorkflowEnvironment.createFromExistingServer({ address: server.address }),
  );
}

test('a sweep goes on where it was when the server is killed and started again on its database', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'passband-restart-'));
  const options = { dir, binary: null, env: process.env, note: () => undefined };
  const held = heldEpisodes();
  const shape = { tasks: 2, attempts: [3], scaffolds: 1 };
  const before = fakeWorld(shape, { runEpisode: held.runEpisode }, 2);
  const after = fakeWorld(shape, {}, 2);

  const killed = await startTemporal(options);
  const first = await join(killed);
  const scene = first.scene();
  await scene.runWorker(before.activities, async () => {
    await scene.start(sweep, 'sweep-restart', [
      { sweep: 'restart', plan: planRef, gatesOnly: false, carried: null },
    ]);
    await held.untilHeld(2);
    held.release();
    await held.untilHeld(2);
  });
  process.kill(killed.pid, 'SIGKILL');
  await killed.ended;
  await first.stop();
  await killed.stop();

  const server = await startTemporal(options);
  const second = await join(server);
  const resumed = second.scene(scene.taskQueue);
  await resumed.runWorker(after.activities, async () => {
    const handle = second.environment.client.workflow.getHandle('sweep-restart');
    const progress = (await handle.result()) as SweepProgress;
    expect(progress).toMatchObject({ planned: 6, counted: 6, failures: {}, lostGenerations: {} });
  });
  // Gates are not formed again: what was done before stays done.
  expect(after.count('prepareTask')).toBe(0);
  expect(after.count('provision')).toBeLessThan(6);
  await second.stop();
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});
