// The sweep: order, window, gates, counts, resumes; with trials that end as told.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Activities, Subject } from '../../activities/types.ts';
import { trialAt } from '../../domain/order.ts';
import { maxGenerations } from '../../workflows/generations.ts';
import { trialEndedSignal, trialWorkflowId } from '../../workflows/messages.ts';
import type { SweepProgress } from '../../workflows/reports.ts';
import { sweep } from '../../workflows/sweep.ts';
import { trial } from '../../workflows/trial.ts';
import { failureOf, fakeWorld, passedOutcome, planRef, type FakeWorld } from '../support/fake-activities.ts';
import { heldEpisodes } from '../support/held-episodes.ts';
import { inputOf, progressOf, readGate, runSweep } from '../support/sweep-runs.ts';
import { startTestTemporal, type TestTemporal } from '../support/temporal-environment.ts';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(async () => {
  await temporal.stop();
});

const run = (name: string, world: FakeWorld): Promise<SweepProgress> => runSweep(temporal, name, world);
const indexOf = (subject: Subject): number => (subject.kind === 'trial' ? subject.index : -1);
const provisioned = { uid: 'u', host: 'h' };

const yearSec = 365 * 86_400;
/** Unset is 0 on one server and ten years on the other. */
const isEndless = (seconds: number): boolean => seconds === 0 || seconds > yearSec;
const secondsOf = (duration: { seconds?: unknown } | null | undefined): number =>
  Number(duration?.seconds ?? 0);

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(20);
}

describe('sweep', () => {
  test('runs each task through its gate and every trial once, and counts them', async () => {
    const shape = { tasks: 3, attempts: [2, 1], scaffolds: 1 };
    const world = fakeWorld(shape);
    const progress = await run('counts', world);
    expect(progress).toMatchObject({
      planned: 9,
      counted: 9,
      results: { passed: 9 },
      endings: { completed: 9 },
      failures: {},
      inFlight: 0,
      gates: { open: 0, inFlight: 0, kept: 3, unaudited: 0 },
      stopped: null,
    });
    expect(world.count('recordVerdict')).toBe(9);
  });

  test('a one-step trial costs its server fewer than 60 events, its report to the sweep included', async () => {
    const world = fakeWorld({ tasks: 1, attempts: [1], scaffolds: 1 }, { readGate });
    await temporal.play(world.activities, async (scene) => {
      const handle = await scene.start(sweep, 'sweep-events', [inputOf('events')]);
      await handle.result();
      const history = await scene.history(trialWorkflowId('events', 0));
      expect(history.events?.length).toBeLessThan(60);
      expect(history.events?.length).toBeGreaterThan(40);
    });
  });

  test('begins trials attempt by attempt, one at a time in a window of one', async () => {
    const shape = { tasks: 2, attempts: [2, 1], scaffolds: 1 };
    const world = fakeWorld(shape, { readGate }, 1);
    await run('order', world);
    const begun = world.calls.flatMap(({ name, input }) =>
      name === 'provision' ? [indexOf((input as { subject: Subject }).subject)] : [],
    );
    const trials = begun.filter((index) => index >= 0);
    expect(trials).toEqual([0, 1, 2, 3, 4, 5]);
    expect(trials.map((index) => trialAt(shape, index).attempt)).toEqual([1, 1, 1, 1, 2, 2]);
  });

  test('leaves a rejected task out of the plan, with its reason, and the others go on', async () => {
    const concludeGate: Activities['concludeGate'] = ({ task }) =>
      Promise.resolve(
        task === 1 ? { outcome: 'rejected', reason: 'oracle-fails' } : { outcome: 'kept', reason: null },
      );
    const world = fakeWorld({ tasks: 3, attempts: [2], scaffolds: 1 }, { concludeGate });
    expect(await run('rejected', world)).toMatchObject({
      planned: 4,
      counted: 4,
      rejected: { 'oracle-fails': [1] },
    });
  });

  test('does not count the trials of a task whose gate the platform did not let form, and keeps the class', async () => {
    const prepareTask: Activities['prepareTask'] = ({ task }) => {
      if (task === 0) throw failureOf('ImagePullTransient');
      return Promise.resolve({ outcome: 'ready', environmentMode: 'separate' });
    };
    const world = fakeWorld({ tasks: 2, attempts: [3], scaffolds: 1 }, { prepareTask });
    expect(await run('unformed', world)).toMatchObject({
      planned: 6,
      counted: 3,
      failures: { ImagePullTransient: 3 },
      unformed: { ImagePullTransient: [0] },
    });
  });

  test('C30: set-up that is lost in 6 of 7 trials until their generations end leaves 1 counted and 6 under their class', async () => {
    const provision: Activities['provision'] = ({ subject }) => {
      if (subject.kind === 'trial' && subject.index > 0) throw failureOf('SandboxLost', 'node gone');
      return Promise.resolve(provisioned);
    };
    const world = fakeWorld({ tasks: 1, attempts: [7], scaffolds: 1 }, { readGate, provision });
    expect(await run('c30', world)).toMatchObject({
      planned: 7,
      counted: 1,
      failures: { SandboxLost: 6 },
      lostGenerations: { SandboxLost: 6 * (maxGenerations - 1) },
    });
    expect(world.count('recordFailure')).toBe(6 * maxGenerations);
    expect(world.count('recordVerdict')).toBe(1);
  });

  test('a trial that six commands interrupted is begun anew each time, and counted', async () => {
    const provision: Activities['provision'] = ({ subject }) => {
      if (subject.kind === 'trial' && subject.generation <= 6) throw failureOf('SandboxLost', 'removed');
      return Promise.resolve(provisioned);
    };
    const recordFailure: Activities['recordFailure'] = () => Promise.resolve({ interrupted: true });
    const world = fakeWorld(
      { tasks: 1, attempts: [1], scaffolds: 1 },
      { readGate, provision, recordFailure },
    );
    expect(await run('c80', world)).toMatchObject({
      counted: 1,
      failures: {},
      lostGenerations: { SandboxLost: 6 },
    });
  });

  test('a generation that meets its predecessor closing begins when that has closed, not after a silence', async () => {
    const held = heldEpisodes();
    const { runEpisode } = held;
    const world = fakeWorld({ tasks: 1, attempts: [1], scaffolds: 1 }, { readGate, runEpisode });
    await temporal.play(world.activities, async (scene) => {
      const id = trialWorkflowId('closing', 0);
      const predecessor = await scene.start(trial, id, [{ sweep: 'closing', plan: planRef, index: 0 }]);
      await held.untilHeld(1);
      const before = await temporal.environment.currentTimeMs();
      const handle = await scene.start(sweep, 'sweep-closing', [inputOf('closing')]);
      await until(async () => (await progressOf(scene, 'closing'))?.inFlight === 1);
      const failure = 'SandboxLost';
      await handle.signal(trialEndedSignal, {
        index: 0,
        outcome: { counts: false, ending: null, result: null, failure, generations: 1 },
        message: null,
        interrupted: true,
      });
      await until(async () => (await progressOf(scene, 'closing'))?.lostGenerations[failure] === 1);
      await until(async () => (await progressOf(scene, 'closing'))?.inFlight === 1);
      held.open();
      await predecessor.result();
      expect(await handle.result()).toMatchObject({ counted: 1 });
      expect((await temporal.environment.currentTimeMs()) - before).toBeLessThan(5 * 60_000);
    });
  });

  test('C31: of 100 trials, 30 timeouts that count and 2 infrastructure failures leave 98 counted', async () => {
    const recordVerdict: Activities['recordVerdict'] = ({ subject }) =>
      Promise.resolve(
        indexOf(subject) < 30
          ? { ...passedOutcome, ending: 'agent-timeout', result: 'failed' }
          : passedOutcome,
      );
    const takeDelta: Activities['takeDelta'] = ({ subject }) => {
      if (indexOf(subject) >= 98) throw failureOf('VerifierBroken');
      return Promise.resolve({ ending: null, finalState: true });
    };
    const shape = { tasks: 10, attempts: [10], scaffolds: 1 };
    const world = fakeWorld(shape, { readGate, recordVerdict, takeDelta }, 20);
    expect(await run('c31', world)).toMatchObject({
      planned: 100,
      counted: 98,
      endings: { 'agent-timeout': 30, completed: 68 },
      results: { failed: 30, passed: 68 },
      failures: { VerifierBroken: 2 },
    });
  });

  test('a trial that waits for its next generation holds no place in the window', async () => {
    const order: string[] = [];
    const provision: Activities['provision'] = ({ subject }) => {
      if (subject.kind === 'trial') order.push(`${subject.index} g${subject.generation}`);
      if (subject.kind === 'trial' && subject.index === 0 && !order.includes('2 g1')) {
        throw failureOf('SandboxLost');
      }
      return Promise.resolve(provisioned);
    };
    const world = fakeWorld({ tasks: 1, attempts: [3], scaffolds: 1 }, { readGate, provision }, 1);
    expect((await run('waiting', world)).counted).toBe(3);
    expect(order.slice(0, 3)).toEqual(['0 g1', '1 g1', '2 g1']);
  });

  test('a second run starts only what has no verdict, and counts what has', async () => {
    const readDone: Activities['readDone'] = () =>
      Promise.resolve({
        runs: [
          [0, 2],
          [3, 2],
        ],
        endings: { completed: 4 },
        results: { passed: 1, failed: 3 },
      });
    const world = fakeWorld({ tasks: 2, attempts: [3], scaffolds: 1 }, { readGate, readDone });
    expect(await run('resumed', world)).toMatchObject({
      planned: 6,
      counted: 6,
      results: { passed: 3, failed: 3 },
    });
    expect(world.namesOf('trial 2 g1')).toContain('recordVerdict');
    expect(world.namesOf('trial 5 g1')).toContain('recordVerdict');
    expect(world.count('recordVerdict')).toBe(2);
  });

  test('runs the gates alone where that is asked for', async () => {
    const world = fakeWorld({ tasks: 4, attempts: [3], scaffolds: 1 });
    const progress = await temporal.play(world.activities, async (scene) => {
      const handle = await scene.start(sweep, 'sweep-audit', [{ ...inputOf('audit'), gatesOnly: true }]);
      return await handle.result();
    });
    expect(progress).toMatchObject({ counted: 0, gates: { open: 0, kept: 4 } });
    expect(world.count('recordVerdict')).toBe(0);
    expect(world.count('concludeGate')).toBe(4);
  });

  test('C84: nothing that waits for a worker has a deadline, and what waited without one goes on and counts', async () => {
    const world = fakeWorld({ tasks: 1, attempts: [2], scaffolds: 1 });
    const scene = temporal.scene();
    const handle = await scene.start(sweep, 'sweep-c84', [inputOf('c84')]);
    expect((await handle.describe()).status.name).toBe('RUNNING');
    await scene.runWorker(world.activities, async () => {
      expect(await handle.result()).toMatchObject({ counted: 2, failures: {}, lostGenerations: {} });
    });
    await scene.replay();
    const histories = await Promise.all(
      ['sweep-c84', 'gate-c84-0', trialWorkflowId('c84', 0)].map((id) => scene.history(id)),
    );
    const events = histories.flatMap((history) => history.events ?? []);
    const activities = events.flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
    expect(activities.length).toBeGreaterThan(20);
    for (const { scheduleToStartTimeout, scheduleToCloseTimeout, heartbeatTimeout } of activities) {
      expect(isEndless(secondsOf(scheduleToStartTimeout))).toBe(true);
      expect(isEndless(secondsOf(scheduleToCloseTimeout))).toBe(true);
      expect(secondsOf(heartbeatTimeout)).toBe(30);
    }
    const workflows = events.flatMap((event) => event.workflowExecutionStartedEventAttributes ?? []);
    expect(workflows).toHaveLength(3);
    for (const { workflowRunTimeout, workflowExecutionTimeout } of workflows) {
      expect(isEndless(secondsOf(workflowRunTimeout))).toBe(true);
      expect(isEndless(secondsOf(workflowExecutionTimeout))).toBe(true);
    }
  });
});
