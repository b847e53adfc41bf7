// The sweep on a real Temporal server: what the time-skipping one does not know.
import { Context } from '@temporalio/activity';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTemporal, type EmbeddedTemporal } from '../../embedded/temporal.ts';
import {
  progressQuery,
  setConcurrencyUpdate,
  trialWorkflowId,
  type SweepInput,
} from '../../workflows/messages.ts';
import type { Activities } from '../../activities/types.ts';
import type { SweepProgress } from '../../workflows/reports.ts';
import { sweep } from '../../workflows/sweep.ts';
import { trial } from '../../workflows/trial.ts';
import { fakeWorld, passedOutcome, planRef } from '../support/fake-activities.ts';
import { heldEpisodes } from '../support/held-episodes.ts';
import { startTestTemporal, type Scene, type TestTemporal } from '../support/temporal-environment.ts';

let dir: string;
let server: EmbeddedTemporal;
let temporal: TestTemporal;
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'passband-sweep-'));
  server = await startTemporal({
    dir,
    binary: null,
    env: process.env,
    note: () => undefined,
    // So that a sweep of some trials continues as new several times.
    dynamicConfig: ['limit.historyCount.suggestContinueAsNew=60'],
  });
  temporal = await startTestTemporal(
    await TestWorkflowEnvironment.createFromExistingServer({ address: server.address }),
  );
});
afterAll(async () => {
  await temporal.stop();
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});

const inputOf = (name: string): SweepInput => ({
  sweep: name,
  plan: planRef,
  gatesOnly: false,
  carried: null,
});

async function progressOf(scene: Scene, name: string): Promise<SweepProgress | null> {
  return await scene.environment.client.workflow.getHandle(`sweep-${name}`).query(progressQuery);
}

describe('sweep on a server', () => {
  test('never has more in flight than its window, also when the window is made smaller or wider', async () => {
    const held = heldEpisodes();
    const world = fakeWorld({ tasks: 2, attempts: [8], scaffolds: 1 }, { runEpisode: held.runEpisode }, 4);
    await temporal.play(world.activities, async (scene) => {
      const handle = await scene.start(sweep, 'sweep-window', [inputOf('window')]);
      await held.untilHeld(4);
      expect((await progressOf(scene, 'window'))?.inFlight).toBe(4);
      await expect(handle.executeUpdate(setConcurrencyUpdate, { args: [0] })).rejects.toThrow();
      expect(await handle.executeUpdate(setConcurrencyUpdate, { args: [6] })).toBe(6);
      await held.untilHeld(6);
      await handle.executeUpdate(setConcurrencyUpdate, { args: [2] });
      held.release();
      await held.untilHeld(2);
      expect(await progressOf(scene, 'window')).toMatchObject({ counted: 6, inFlight: 2, concurrency: 2 });
      held.open();
      expect((await handle.result()).counted).toBe(16);
    });
  });

  test('continues as new many times with trials in flight, and loses none and counts none twice', async () => {
    const shape = { tasks: 8, attempts: [3, 2], scaffolds: 1 };
    const world = fakeWorld(shape, {}, 6);
    await temporal.play(world.activities, async (scene) => {
      const handle = await scene.start(sweep, 'sweep-continued', [inputOf('continued')]);
      expect(await handle.result()).toMatchObject({ planned: 40, counted: 40, results: { passed: 40 } });
      const last = await scene.history('sweep-continued');
      const first = last.events?.[0]?.workflowExecutionStartedEventAttributes;
      expect(first?.continuedExecutionRunId).not.toBe('');
      expect(Number(first?.input?.payloads?.[0]?.data?.length)).toBeLessThan(2_000);
    });
    expect(world.count('recordVerdict')).toBe(40);
  });

  test('C78: goes on in the same generation when its worker is shut down in the middle of the episode', async () => {
    const started = Promise.withResolvers<undefined>();
    const cut: Activities['runEpisode'] = async () => {
      started.resolve(undefined);
      return await Context.current().cancelled;
    };
    const first = fakeWorld({ tasks: 1, attempts: [1], scaffolds: 1 }, { runEpisode: cut });
    const second = fakeWorld({ tasks: 1, attempts: [1], scaffolds: 1 });
    const scene = temporal.scene();
    const handle = await scene.start(trial, 'trial-shut-down', [{ sweep: 's', plan: planRef, index: 0 }]);
    await scene.runWorker(first.activities, () => started.promise);
    await scene.runWorker(second.activities, async () => {
      expect((await handle.result()).outcome).toEqual(passedOutcome);
    });
    await scene.replay();
    const names = second.calls.map(({ name }) => name);
    expect(names.slice(0, 3)).toEqual(['runEpisode', 'takeDelta', 'verify']);
    // Beside each other.
    expect(names.slice(3).toSorted()).toEqual(['cleanUp', 'recordVerdict']);
  });

  test('begins a trial anew whose workflow was terminated from outside', async () => {
    const held = heldEpisodes();
    const world = fakeWorld({ tasks: 1, attempts: [1], scaffolds: 1 }, { runEpisode: held.runEpisode });
    await temporal.play(world.activities, async (scene) => {
      const handle = await scene.start(sweep, 'sweep-terminated', [inputOf('terminated')]);
      await held.untilHeld(1);
      await scene.environment.client.workflow.getHandle(trialWorkflowId('terminated', 0)).terminate('test');
      held.open();
      expect(await handle.result()).toMatchObject({ counted: 1, lostGenerations: { Unexpected: 1 } });
    });
    expect(world.namesOf('trial 0 g2')).toContain('recordVerdict');
  });

  test('takes over the trials that an earlier sweep of its name left running', async () => {
    const held = heldEpisodes();
    const world = fakeWorld({ tasks: 1, attempts: [2], scaffolds: 1 }, { runEpisode: held.runEpisode });
    await temporal.play(world.activities, async (scene) => {
      const first = await scene.start(sweep, 'sweep-left', [inputOf('left')]);
      await held.untilHeld(2);
      await first.terminate('test');
      const second = await scene.start(sweep, 'sweep-left', [inputOf('left')]);
      while ((await progressOf(scene, 'left'))?.inFlight !== 2) await new Promise((go) => setTimeout(go, 50));
      held.open();
      expect(await second.result()).toMatchObject({ counted: 2 });
    });
    expect(world.count('recordVerdict')).toBe(2);
  });
});
