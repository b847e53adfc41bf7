// Trials whose model, store or platform is away: they give up their places, and go on where they were when it is back.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Activities, Subject } from '../../activities/types.ts';
import { triesInPlace } from '../../domain/backoff.ts';
import { stopSignal, trialWorkflowId } from '../../workflows/messages.ts';
import { sweep } from '../../workflows/sweep.ts';
import { trial } from '../../workflows/trial.ts';
import { awayOf, fakeWorld, failureOf, planRef } from '../support/fake-activities.ts';
import { inputOf, progressOf, runSweep } from '../support/sweep-runs.ts';
import { startTestTemporal, type TestTemporal } from '../support/temporal-environment.ts';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(async () => {
  await temporal.stop();
});

const indexOf = (subject: Subject): number => (subject.kind === 'trial' ? subject.index : -1);
const completed = { ending: 'completed', turns: 1 } as const;

describe('what is away', () => {
  test('C33: a model that is away costs no trial a generation; its episode goes on when it is back, others in its place meanwhile', async () => {
    let looks = 0;
    const order: string[] = [];
    const earlier: number[] = [];
    const runEpisode: Activities['runEpisode'] = ({ subject, earlierTries }) => {
      if (subject.kind !== 'trial') return Promise.resolve(completed);
      // Positions 0 and 2 are the first model's.
      const isFirstModels = subject.index % 2 === 0;
      if (isFirstModels && looks < 3) throw awayOf('ModelUnavailable');
      order.push(`${subject.index} g${subject.generation}`);
      if (isFirstModels) earlier.push(earlierTries);
      return Promise.resolve(completed);
    };
    const probe: Activities['probe'] = ({ away }) => {
      expect(away).toBe(0);
      looks += 1;
      if (looks < 3) throw failureOf('ModelUnavailable');
      return Promise.resolve();
    };
    const world = fakeWorld({ tasks: 2, attempts: [1, 1], scaffolds: 1 }, { runEpisode, probe }, 1);
    expect(await runSweep(temporal, 'parked', world)).toMatchObject({
      counted: 4,
      failures: {},
      lostGenerations: {},
      parked: 0,
      paused: [],
    });
    // In a window of one: the other model's trials first, then the parked one, then what was passed over.
    expect(order).toEqual(['1 g1', '3 g1', '0 g1', '2 g1']);
    // The tries before are told to whoever goes on; what never met the outage has none.
    expect(earlier).toEqual([triesInPlace, 0]);
    expect(world.count('provision')).toBe(4 + 2 * 2);
  });

  test('a store that is away when the verdict is to be written starts nothing new, and the verdict is written', async () => {
    let away = true;
    const recordVerdict: Activities['recordVerdict'] = async ({ subject, reached }) => {
      if (away) throw awayOf('StoreUnavailable');
      return await fakeWorld({ tasks: 1, attempts: [1], scaffolds: 1 }).activities.recordVerdict({
        subject,
        reached,
      });
    };
    const begunWhileAway: number[] = [];
    let parkedOnce = false;
    const provision: Activities['provision'] = ({ subject }) => {
      if (subject.kind === 'trial' && parkedOnce && away) begunWhileAway.push(subject.index);
      return Promise.resolve({ uid: 'u', host: 'h' });
    };
    let looks = 0;
    const probe: Activities['probe'] = ({ away: what }) => {
      expect(what).toBe('store');
      parkedOnce = true;
      looks += 1;
      if (looks < 4) throw failureOf('StoreUnavailable');
      away = false;
      return Promise.resolve();
    };
    const world = fakeWorld(
      { tasks: 1, attempts: [5], scaffolds: 1 },
      { recordVerdict, provision, probe },
      2,
    );
    expect(await runSweep(temporal, 'store-away', world)).toMatchObject({ counted: 5, failures: {} });
    expect(begunWhileAway).toEqual([]);
    expect(looks).toBe(4);
  });

  test('a gate that meets a platform that is away goes on in its generation', async () => {
    let looks = 0;
    const provision: Activities['provision'] = () => {
      if (looks === 0) throw awayOf('PlatformUnavailable');
      return Promise.resolve({ uid: 'u', host: 'h' });
    };
    const probe: Activities['probe'] = ({ away }) => {
      expect(away).toBe('platform');
      looks += 1;
      return Promise.resolve();
    };
    const world = fakeWorld({ tasks: 1, attempts: [1], scaffolds: 1 }, { provision, probe });
    expect(await runSweep(temporal, 'gate-away', world)).toMatchObject({ counted: 1, gates: { kept: 1 } });
    expect(world.namesOf('oracle 0 separate g1').filter((name) => name === 'provision')).toHaveLength(2);
    expect(world.namesOf('oracle 0 separate g2')).toEqual([]);
  });

  test('a sweep that is stopped ends what it has parked by its class, with its record', async () => {
    const runEpisode: Activities['runEpisode'] = ({ subject }) => {
      if (indexOf(subject) >= 0) throw awayOf('ModelUnavailable');
      return Promise.resolve(completed);
    };
    const probe: Activities['probe'] = () => {
      throw failureOf('ModelUnavailable');
    };
    const world = fakeWorld({ tasks: 1, attempts: [2], scaffolds: 1 }, { runEpisode, probe }, 1);
    await temporal.play(world.activities, async (scene) => {
      const handle = await scene.start(sweep, 'sweep-stopped-away', [inputOf('stopped-away')]);
      while (((await progressOf(scene, 'stopped-away'))?.parked ?? 0) === 0)
        await new Promise((go) => setTimeout(go, 20));
      expect((await progressOf(scene, 'stopped-away'))?.paused).toEqual(['told: away']);
      await handle.signal(stopSignal, 'asked for');
      expect(await handle.result()).toMatchObject({
        counted: 0,
        failures: { ModelUnavailable: 1 },
        parked: 0,
      });
    });
    expect(world.calls.filter(({ name }) => name === 'recordFailure')).toHaveLength(1);
  });

  test('what is said to be away for good when it is looked for stops the sweep', async () => {
    const runEpisode: Activities['runEpisode'] = ({ subject }) => {
      if (indexOf(subject) >= 0) throw awayOf('ModelUnavailable');
      return Promise.resolve(completed);
    };
    const probe: Activities['probe'] = () => {
      throw failureOf('Forbidden', 'HTTP 401');
    };
    const world = fakeWorld({ tasks: 1, attempts: [2], scaffolds: 1 }, { runEpisode, probe }, 1);
    expect(await runSweep(temporal, 'refused', world)).toMatchObject({
      counted: 0,
      stopped: { failureClass: 'Forbidden', line: 'Forbidden: HTTP 401' },
      failures: { ModelUnavailable: 1 },
    });
  });

  test('a trial without a sweep asks again by itself, after waits of its own', async () => {
    let asked = 0;
    const runEpisode: Activities['runEpisode'] = ({ earlierTries }) => {
      expect(earlierTries).toBe(asked * triesInPlace);
      asked += 1;
      if (asked < 6) throw awayOf('ModelUnavailable');
      return Promise.resolve(completed);
    };
    const world = fakeWorld({ tasks: 1, attempts: [1], scaffolds: 1 }, { runEpisode });
    await temporal.play(world.activities, async (scene) => {
      const handle = await scene.start(trial, trialWorkflowId('alone', 0), [
        { sweep: 'alone', plan: planRef, index: 0 },
      ]);
      expect(await handle.result()).toMatchObject({ outcome: { counts: true } });
    });
  });
});
