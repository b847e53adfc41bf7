// How a sweep ends: over, stopped, failed before it began, cancelled; and what is left of it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Activities } from '../../activities/types.ts';
import { failureClasses, failureTable } from '../../domain/failures.ts';
import { stopSignal } from '../../workflows/messages.ts';
import type { SweepProgress } from '../../workflows/reports.ts';
import { sweep } from '../../workflows/sweep.ts';
import { failureOf, fakeWorld, type FakeWorld } from '../support/fake-activities.ts';
import { heldEpisodes } from '../support/held-episodes.ts';
import { inputOf, readGate, runSweep } from '../support/sweep-runs.ts';
import { startTestTemporal, type TestTemporal } from '../support/temporal-environment.ts';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(async () => {
  await temporal.stop();
});

const run = (name: string, world: FakeWorld): Promise<SweepProgress> => runSweep(temporal, name, world);
const provisioned = { uid: 'u', host: 'h' };

describe('the end of a sweep', () => {
  test.each(failureClasses.filter((name) => failureTable[name].stopsSweep))(
    'stops with one clear line on %s, and starts nothing more',
    async (name) => {
      const provision: Activities['provision'] = ({ subject }) => {
        if (subject.kind === 'trial') throw failureOf(name, '203.0.113.10:443 answered', 'passBarrier');
        return Promise.resolve(provisioned);
      };
      const world = fakeWorld({ tasks: 1, attempts: [50], scaffolds: 1 }, { readGate, provision }, 2);
      const progress = await run(`stop-${name}`, world);
      expect(progress.stopped).toEqual({
        failureClass: name,
        line: `${name}: passBarrier: 203.0.113.10:443 answered`,
      });
      expect(progress.counted).toBe(0);
      expect(world.count('runEpisode')).toBe(0);
      expect(progress.failures[name]).toBeLessThanOrEqual(3);
    },
  );

  test('fails with one clear line where its plan cannot be read', async () => {
    const readPlan = (): never => {
      throw failureOf('ConfigInvalid', 'v1/sweeps/s/plan.json: version 2 is not known here');
    };
    const world = fakeWorld({ tasks: 1, attempts: [1], scaffolds: 1 }, { readPlan });
    await expect(run('unreadable', world)).rejects.toMatchObject({
      cause: {
        type: 'ConfigInvalid',
        message: 'ConfigInvalid: readPlan: v1/sweeps/s/plan.json: version 2 is not known here',
      },
    });
  });

  test('C49: fails with one clear line, before any gate, where closed egress cannot be proved, and removes what the proof made', async () => {
    const beginSweep = (): never => {
      throw failureOf('EgressUnprovable', 'the API server does not answer the canary');
    };
    const world = fakeWorld({ tasks: 1, attempts: [1], scaffolds: 1 }, { beginSweep });
    await expect(run('unprovable', world)).rejects.toMatchObject({
      cause: {
        type: 'EgressUnprovable',
        message: 'EgressUnprovable: beginSweep: the API server does not answer the canary',
      },
    });
    expect(world.calls.map(({ name }) => name)).toEqual(['readPlan', 'beginSweep', 'finishSweep']);
  });

  test('surveys the network before its first gate and removes what is left after its last trial, once each', async () => {
    const world = fakeWorld({ tasks: 2, attempts: [2], scaffolds: 1 });
    await run('ends', world);
    const names = world.calls.map(({ name }) => name);
    expect(names.slice(0, 2)).toEqual(['readPlan', 'beginSweep']);
    expect(names.at(-1)).toBe('finishSweep');
    expect([world.count('beginSweep'), world.count('finishSweep')]).toEqual([1, 1]);
  });

  test('is over where what is left of it cannot be removed', async () => {
    const finishSweep = (): never => {
      throw failureOf('PlatformUnavailable');
    };
    const world = fakeWorld({ tasks: 1, attempts: [1], scaffolds: 1 }, { readGate, finishSweep });
    expect(await run('stays', world)).toMatchObject({ counted: 1 });
    expect(world.count('finishSweep')).toBeGreaterThan(3);
  });

  test('an operator stops it: what runs ends and counts, nothing new starts', async () => {
    const held = heldEpisodes();
    const { runEpisode } = held;
    const world = fakeWorld({ tasks: 1, attempts: [9], scaffolds: 1 }, { readGate, runEpisode }, 3);
    await temporal.play(world.activities, async (scene) => {
      const handle = await scene.start(sweep, 'sweep-stopped', [inputOf('stopped')]);
      await held.untilHeld(3);
      await handle.signal(stopSignal, 'enough');
      held.release();
      expect(await handle.result()).toMatchObject({
        counted: 3,
        planned: 9,
        stopped: { failureClass: null, line: 'enough' },
      });
    });
  });
});
