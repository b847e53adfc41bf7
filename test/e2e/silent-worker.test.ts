// A worker that falls silent: noticed by its missing heartbeat, half a minute of real time, and its episode goes on elsewhere.
import { expect, test } from 'vitest';
import type { Activities } from '../../activities/types.ts';
import { trial } from '../../workflows/trial.ts';
import { fakeWorld, passedOutcome, planRef } from '../support/fake-activities.ts';
import { startTestTemporal } from '../support/temporal-environment.ts';
import { startTimeSkippingServer } from '../support/temporal-test-server.ts';
import { joinTimeSkipping } from '../support/time-skipping.ts';

test('C78: an episode whose worker falls silent is given to another within a minute, in the same generation', async () => {
  const server = await startTimeSkippingServer();
  const temporal = await startTestTemporal(await joinTimeSkipping(server.address));
  let calls = 0;
  const hanging = Promise.withResolvers<undefined>();
  const released = Promise.withResolvers<undefined>();
  const runEpisode: Activities['runEpisode'] = async () => {
    calls += 1;
    if (calls === 1) {
      // No sign of life; what it answers much later is not heard.
      hanging.resolve(undefined);
      await released.promise;
      return { ending: 'agent-timeout', turns: 0 };
    }
    return { ending: 'completed', turns: 1 };
  };
  const world = fakeWorld({ tasks: 1, attempts: [1], scaffolds: 1 }, { runEpisode });
  await temporal.play(world.activities, async (scene) => {
    const handle = await scene.start(trial, 'trial-silent', [{ sweep: 's', plan: planRef, index: 0 }]);
    await hanging.promise;
    const silentSince = performance.now();
    expect((await handle.result()).outcome).toEqual(passedOutcome);
    expect(performance.now() - silentSince).toBeLessThan(60_000);
    released.resolve(undefined);
  });
  expect(calls).toBe(2);
  expect(world.count('provision')).toBe(1);
  await temporal.stop();
  await server.stop();
});
