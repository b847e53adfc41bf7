// The trial: its phases in order, one report whatever happens, sandboxes always removed.
import { ApplicationFailure } from '@temporalio/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Activities } from '../../activities/types.ts';
import { failureClasses, failureTable, type FailureClass } from '../../domain/failures.ts';
import type { TrialReport } from '../../workflows/reports.ts';
import { trial } from '../../workflows/trial.ts';
import { failureOf, fakeWorld, passedOutcome, planRef, type FakeWorld } from '../support/fake-activities.ts';
import { startTestTemporal, type TestTemporal } from '../support/temporal-environment.ts';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(async () => {
  await temporal.stop();
});

const oneTrial = { tasks: 1, attempts: [1], scaffolds: 1 };
const input = { sweep: 's', plan: planRef, index: 0 };
let ids = 0;

async function run(world: FakeWorld): Promise<TrialReport> {
  return await temporal.play(world.activities, async (scene) => {
    const handle = await scene.start(trial, `trial-${(ids += 1)}`, [input]);
    return await handle.result();
  });
}

/** Fails the first `times` calls, then does as `then` says. */
function failing<Name extends keyof Activities>(
  times: number,
  failure: () => Error,
  then: Activities[Name],
): Activities[Name] {
  let calls = 0;
  const activity = (argument: never): unknown => {
    calls += 1;
    if (calls <= times) throw failure();
    return (then as (argument: never) => unknown)(argument);
  };
  return activity as unknown as Activities[Name];
}

const episode: Activities['runEpisode'] = () => Promise.resolve({ ending: 'completed', turns: 1 });

describe('trial', () => {
  test('goes through its phases in order and answers the verdict', async () => {
    const world = fakeWorld(oneTrial);
    expect(await run(world)).toEqual({ index: 0, outcome: passedOutcome, message: null });
    const names = world.namesOf('trial 0 g1');
    expect(names.slice(0, 5)).toEqual(['readTrial', 'provision', 'runEpisode', 'takeDelta', 'verify']);
    // Side by side, in whichever order they are begun.
    expect(names.slice(5).sort()).toEqual(['cleanUp', 'recordVerdict']);
  });

  test('ends when both its verdict is written and its sandboxes are gone', async () => {
    const done: string[] = [];
    const slowly = async <T>(name: string, ms: number, answer: T): Promise<T> => {
      await sleep(ms);
      done.push(name);
      return answer;
    };
    for (const [cleanUpMs, recordMs] of [
      [150, 0],
      [0, 150],
    ] as const) {
      const cleanUp: Activities['cleanUp'] = () => slowly('cleanUp', cleanUpMs, undefined);
      const recordVerdict: Activities['recordVerdict'] = () => slowly('record', recordMs, passedOutcome);
      await run(fakeWorld(oneTrial, { cleanUp, recordVerdict }));
      expect(done.splice(0).sort()).toEqual(['cleanUp', 'record']);
    }
  });

  test('a failure behind the creation of the sandbox belongs to the phase that it was at', async () => {
    const provision = (): never => {
      throw failureOf('TaskInvalid', 'the healthcheck exited with 1', 'passBarrier');
    };
    const world = fakeWorld(oneTrial, { provision });
    expect((await run(world)).message).toBe('passBarrier: the healthcheck exited with 1');
    expect(world.calls.find(({ name }) => name === 'recordFailure')?.input).toMatchObject({
      failureClass: 'TaskInvalid',
      phase: 'passBarrier',
    });
  });

  test('waits for a cluster without room for hours, in one generation and with nothing charged', async () => {
    const full = (): Error =>
      ApplicationFailure.create({ type: 'PlatformUnavailable', message: 'quota', nextRetryDelay: '60s' });
    const provisioned: Activities['provision'] = () => Promise.resolve({ uid: 'uid', host: 'host' });
    const world = fakeWorld(oneTrial, { provision: failing<'provision'>(320, full, provisioned) });
    const before = await temporal.environment.currentTimeMs();
    expect((await run(world)).outcome).toEqual(passedOutcome);
    expect((await temporal.environment.currentTimeMs()) - before).toBeGreaterThan(5 * 3_600_000);
    expect(world.count('recordFailure')).toBe(0);
  });

  test('runs the steps until one says that the next is not reached', async () => {
    const verify: Activities['verify'] = ({ step }) =>
      Promise.resolve({ result: 'failed', reward: 0, goOn: step < 1 });
    const world = fakeWorld(oneTrial, { verify }, 4, 3);
    await run(world);
    expect(world.count('runEpisode')).toBe(2);
    expect(world.calls.find(({ name }) => name === 'recordVerdict')?.input).toMatchObject({ reached: 2 });
  });

  test('runs nothing where the verdict is there already', async () => {
    const readTrial: Activities['readTrial'] = () =>
      Promise.resolve({ times: { steps: [], setupMs: 1 }, done: passedOutcome, generation: 2 });
    const world = fakeWorld(oneTrial, { readTrial });
    expect((await run(world)).outcome).toEqual(passedOutcome);
    expect(world.calls.map(({ name }) => name)).toEqual(['readTrial']);
  });

  test('does not begin where its full limits do not fit into the budget, and says so in its record', async () => {
    const world = fakeWorld(oneTrial);
    const report = await temporal.play(world.activities, async (scene) => {
      const late = { ...input, deadlineMs: Date.now() + 1_000 };
      return await (await scene.start(trial, `trial-${(ids += 1)}`, [late])).result();
    });
    expect(report.outcome).toMatchObject({ counts: false, failure: 'BudgetExhausted' });
    expect(world.namesOf('trial 0 g1')).toEqual(['readTrial', 'recordFailure']);
  });

  test('begins where its full limits fit into the budget', async () => {
    const world = fakeWorld(oneTrial);
    const report = await temporal.play(world.activities, async (scene) => {
      // The server skips time for all tests that share it: far enough is far beyond them.
      const early = { ...input, deadlineMs: Date.now() + 100 * 365 * 86_400_000 };
      return await (await scene.start(trial, `trial-${(ids += 1)}`, [early])).result();
    });
    expect(report.outcome).toEqual(passedOutcome);
  });

  test('C36: an error that nobody named is Unexpected, kept as evidence, never a verdict', async () => {
    const unnamed = (): Error => new TypeError('x is not a function');
    const world = fakeWorld(oneTrial, { runEpisode: failing<'runEpisode'>(9, unnamed, episode) });
    const report = await run(world);
    expect(report.outcome).toMatchObject({ counts: false, result: null, failure: 'Unexpected' });
    expect(report.message).toBe('runEpisode: x is not a function');
    expect(world.calls.find(({ name }) => name === 'recordFailure')?.input).toMatchObject({
      failureClass: 'Unexpected',
      phase: 'runEpisode',
    });
    expect(world.count('runEpisode')).toBe(1);
  });

  test('survives a model that is away for hours, with one generation', async () => {
    const away = (): Error => failureOf('ModelUnavailable', '503');
    const world = fakeWorld(oneTrial, { runEpisode: failing<'runEpisode'>(60, away, episode) });
    const before = await temporal.environment.currentTimeMs();
    expect((await run(world)).outcome).toEqual(passedOutcome);
    expect((await temporal.environment.currentTimeMs()) - before).toBeGreaterThan(3 * 3_600_000);
    expect(world.count('provision')).toBe(1);
  });

  test('ends uncounted where the store cannot be read at all', async () => {
    const gone = (): never => {
      throw failureOf('Forbidden', 'the store refuses the credentials');
    };
    const world = fakeWorld(oneTrial, { readTrial: gone });
    expect(await run(world)).toMatchObject({
      outcome: { counts: false, failure: 'Forbidden' },
      message: 'readTrial: the store refuses the credentials',
    });
    expect(world.count('cleanUp')).toBe(0);
  });

  test('keeps its verdict where a sandbox cannot be removed', async () => {
    const cleanUp = (): never => {
      throw failureOf('PlatformUnavailable');
    };
    const world = fakeWorld(oneTrial, { cleanUp });
    expect((await run(world)).outcome).toEqual(passedOutcome);
    expect(world.count('cleanUp')).toBeGreaterThan(3);
  });
});

describe('a failure of the episode', () => {
  const worlds = new Map<FailureClass, FakeWorld>();
  const reports = new Map<FailureClass, TrialReport>();

  beforeAll(async () => {
    // One scene for all: the trial's position says which class its episode fails with, once.
    const failed = new Set<number>();
    const failingOnce: Activities['runEpisode'] = (argument) => {
      const index = argument.subject.kind === 'trial' ? argument.subject.index : -1;
      const name = failureClasses[index];
      if (name === undefined || failed.has(index)) return episode(argument);
      failed.add(index);
      throw failureOf(name);
    };
    const world = fakeWorld(oneTrial, { runEpisode: failingOnce });
    await temporal.play(world.activities, async (scene) => {
      for (const [index, name] of failureClasses.entries()) {
        const handle = await scene.start(trial, `trial-of-${name}`, [{ ...input, index }]);
        reports.set(name, await handle.result());
        worlds.set(name, world);
      }
    });
  });

  test.each(failureClasses)('of class %s is treated as its row of the failure table says (C36)', (name) => {
    const names = worlds.get(name)?.namesOf(`trial ${failureClasses.indexOf(name)} g1`) ?? [];
    const count = (activity: keyof Activities): number => names.filter((other) => other === activity).length;
    const askedAgain = failureTable[name].retry === 'activity';
    expect(count('runEpisode')).toBe(askedAgain ? 2 : 1);
    expect(count('recordFailure')).toBe(askedAgain ? 0 : 1);
    expect(count('recordVerdict')).toBe(askedAgain ? 1 : 0);
    expect(count('cleanUp')).toBe(1);
    expect(reports.get(name)?.outcome).toMatchObject({
      counts: askedAgain,
      failure: askedAgain ? null : name,
    });
  });
});
