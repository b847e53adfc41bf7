// A trial and a sweep that are cancelled. On a server of their own: it skips no time any more where an activity was cancelled.
import { Context } from '@temporalio/activity';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Activities } from '../../activities/types.ts';
import { sweep } from '../../workflows/sweep.ts';
import { trial } from '../../workflows/trial.ts';
import { fakeWorld, planRef } from '../support/fake-activities.ts';
import { heldEpisodes } from '../support/held-episodes.ts';
import { inputOf, progressOf } from '../support/sweep-runs.ts';
import { startTestTemporal, type TestTemporal } from '../support/temporal-environment.ts';
import { startTimeSkippingServer, type TimeSkippingServer } from '../support/temporal-test-server.ts';
import { joinTimeSkipping } from '../support/time-skipping.ts';

let server: TimeSkippingServer;
let temporal: TestTemporal;
beforeAll(async () => {
  server = await startTimeSkippingServer();
  temporal = await startTestTemporal(await joinTimeSkipping(server.address));
});
afterAll(async () => {
  await temporal.stop();
  await server.stop();
});

describe('cancelled in the middle', () => {
  test('C42: a trial removes its sandboxes, and writes no verdict', async () => {
    const started = Promise.withResolvers<undefined>();
    const runEpisode: Activities['runEpisode'] = async () => {
      started.resolve(undefined);
      const beats = setInterval(() => Context.current().heartbeat(), 100);
      return await Context.current().cancelled.finally(() => clearInterval(beats));
    };
    const world = fakeWorld({ tasks: 1, attempts: [1], scaffolds: 1 }, { runEpisode });
    await temporal.play(world.activities, async (scene) => {
      const handle = await scene.start(trial, 'trial-cancelled', [{ sweep: 's', plan: planRef, index: 0 }]);
      await started.promise;
      await handle.cancel();
      await expect(handle.result()).rejects.toThrow('cancelled');
    });
    expect(world.namesOf('trial 0 g1').slice(-2)).toEqual(['runEpisode', 'cleanUp']);
    expect(world.count('recordFailure')).toBe(0);
  });

  test('C42: a sweep cancels its trials and ends when their sandboxes are gone', async () => {
    const held = heldEpisodes();
    const world = fakeWorld({ tasks: 1, attempts: [5], scaffolds: 1 }, { runEpisode: held.runEpisode }, 3);
    await temporal.play(world.activities, async (scene) => {
      const handle = await scene.start(sweep, 'sweep-cancelled', [inputOf('cancelled')]);
      await held.untilHeld(3);
      await handle.cancel();
      await expect(handle.result()).rejects.toThrow('cancelled');
      expect(await progressOf(scene, 'cancelled')).toMatchObject({ cancelled: 3, inFlight: 0, counted: 0 });
    });
    expect(world.count('cleanUp')).toBe(2 + 3);
    expect(world.count('recordVerdict')).toBe(0);
    expect(world.calls.at(-1)?.name).toBe('finishSweep');
  });
});
