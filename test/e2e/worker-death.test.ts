// Workers and commands that are killed in the middle of episodes: the same plan ends fully counted, nothing twice.
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { verdictKey } from '../../domain/layout.ts';
import { startKnownRateServer } from '../../instruments/known-rate/server.ts';
import { readKnownTasks } from '../../instruments/known-tasks.ts';
import { ensureBase } from '../support/base-image.ts';
import {
  CountsSchema,
  expectCode,
  openScene,
  reach,
  until,
  type Running,
  type Scene,
} from '../support/passband.ts';
import { copyExamples } from '../support/small-tasks.ts';
import { verdictsOf } from '../support/store-files.ts';
import { repliesOf, snapshotOf, type Snapshot } from '../support/trials-in-flight.ts';

const taskNames = ['access-report', 'staged-import', 'team-permissions'];
const models = ['known-rate-0.5', 'known-rate-1'];
const attempts = 2;
const planned = taskNames.length * models.length * attempts;
const sweep = 'killed';

let scene: Scene;
let tasks: string;
beforeAll(ensureBase);
beforeEach(async () => {
  scene = await openScene();
  tasks = await copyExamples(path.join(scene.dir, 'tasks'), taskNames);
});
afterEach(async () => {
  await scene.close();
});

/** Waits until trials that are not in `but` are in the middle of an episode, and answers what stands there. */
async function midEpisode(running: Running, but: readonly string[]): Promise<Snapshot> {
  return await reach(running, 'a trial in the middle of its episode', async () => {
    const snapshot = await snapshotOf(scene.store, sweep, 2);
    return snapshot.interrupted.some((trial) => !but.includes(trial)) && snapshot;
  });
}

/** Every record of the snapshot still stands as it was, and the interrupted trials were gone on with in their generation. */
async function expectGoneOnWith(snapshot: Snapshot): Promise<void> {
  const now = await snapshotOf(scene.store, sweep, 1);
  for (const [file, digest] of snapshot.files) expect(now.files.get(file), file).toBe(digest);
  const verdicts = await verdictsOf(scene.store, sweep);
  for (const trial of snapshot.interrupted) {
    const verdict = verdicts.find(
      ({ trial: { task, model, scaffold, attempt } }) =>
        verdictKey({ sweep, task: task.replace('/', '--'), model, scaffold, attempt }) ===
        `v1/sweeps/${sweep}/trials/${trial}/verdict.json`,
    );
    expect(verdict?.generation, trial).toBe(1);
    // A record a turn, numbered without a gap in each step: no turn was asked for twice, and none is missing.
    const replies = repliesOf(now.files, trial);
    expect(replies).toHaveLength(verdict?.turns ?? Number.NaN);
    const perStep = Map.groupBy(replies, (file) => path.dirname(file));
    for (const files of perStep.values()) {
      expect(files.map((file) => Number(path.basename(file).slice(0, 5)))).toEqual(files.map((_, at) => at));
    }
  }
}

async function expectAllCounted(stdout: string): Promise<void> {
  expect(CountsSchema.parse(JSON.parse(stdout))).toEqual({ planned, counted: planned, failures: {} });
  const verdicts = await verdictsOf(scene.store, sweep);
  const names = verdicts.map(({ trial: { task, model, attempt } }) => `${task} ${model} ${attempt}`);
  expect(new Set(names).size).toBe(planned);
  expect(names).toHaveLength(planned);
  const calibration = await scene.run(['calibrate', sweep, '--json']);
  expectCode(calibration, 0);
  expect(JSON.parse(calibration.stdout)).toMatchObject({
    ok: true,
    agree: planned,
    disagree: [],
    missing: [],
  });
}

const command = (...modelFlags: string[]): string[] => [
  ...['sweep', 'start', '--tasks', tasks, ...modelFlags.flatMap((model) => ['--model', model])],
  ...['--attempts', String(attempts), '--concurrency', '3', '--name', sweep, '--json'],
];

test('C70 C78: a worker killed twice in the middle of episodes: gone on with, each trial counted once', async () => {
  // Slow enough to be met in the middle, and outside the command, as a real model is.
  const known = await readKnownTasks(tasks);
  const server = await startKnownRateServer({ tasks: known, models, seed: 7, latencyMs: 500 });
  try {
    const running = scene.start(command(...models.map((model) => `${model}=${server.url}`)));
    const snapshots: Snapshot[] = [];
    for (const time of [1, 2]) {
      const met = snapshots.flatMap(({ interrupted }) => interrupted);
      await midEpisode(running, met);
      const worker = await reach(running, 'a worker', running.workerPid);
      process.kill(worker, 'SIGKILL');
      snapshots.push(await snapshotOf(scene.store, sweep, 1));
      await reach(running, 'another worker', () => running.said().split('another one goes on').length > time);
    }
    const ended = await running.ended;
    expectCode(ended, 0);
    await expectAllCounted(ended.stdout);
    expect(snapshots.flatMap(({ interrupted }) => interrupted)).not.toEqual([]);
    for (const snapshot of snapshots) await expectGoneOnWith(snapshot);
    await scene.expectNothingLeft();
  } finally {
    await server.close();
  }
});

test('C77: a command killed in the middle leaves no worker, and the same command goes on at other addresses', async () => {
  const first = scene.start(command(...models));
  await midEpisode(first, []);
  const worker = await reach(first, 'a worker', first.workerPid);
  first.kill('SIGKILL');
  await first.ended;
  const snapshot = await snapshotOf(scene.store, sweep, 1);
  await until('the end of the worker', () => !isAlive(worker), 15_000);

  const second = await scene.run(command(...models));
  expectCode(second, 0);
  await expectAllCounted(second.stdout);
  const verdictsThen = [...snapshot.files].filter(([file]) => file.endsWith('verdict.json'));
  const now = await snapshotOf(scene.store, sweep, 1);
  for (const [file, digest] of verdictsThen) expect(now.files.get(file), file).toBe(digest);
  await scene.expectNothingLeft();
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
