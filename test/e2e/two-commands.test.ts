// Several commands and workers on one store: refused in one line, joined by address, and nothing counted twice.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { startKnownRateServer, type KnownRateServer } from '../../instruments/known-rate/server.ts';
import { readKnownTasks } from '../../instruments/known-tasks.ts';
import { ensureBase } from '../support/base-image.ts';
import {
  expectCode,
  expectFailure,
  openScene,
  reach,
  type Running,
  type Scene,
} from '../support/passband.ts';
import { writeTasks } from '../support/small-tasks.ts';
import { verdictsOf } from '../support/store-files.ts';

const model = 'known-rate-1';
const attempts = 4;

let scene: Scene;
let tasks: string;
let server: KnownRateServer;
beforeAll(ensureBase);
beforeEach(async () => {
  scene = await openScene();
  tasks = await writeTasks(path.join(scene.dir, 'tasks'), { one: {}, two: {} });
  // Slow enough that a second command meets the first one.
  const known = await readKnownTasks(tasks);
  server = await startKnownRateServer({ tasks: known, models: [model], seed: 7, latencyMs: 700 });
});
afterEach(async () => {
  try {
    await scene.expectNothingLeft();
  } finally {
    await server.close();
    await scene.close();
  }
});

const command = (name: string, ...more: string[]): string[] => [
  ...['sweep', 'start', '--tasks', tasks, '--model', `${model}=${server.url}`, '--name', name, '--json'],
  ...more,
];
const k = ['--attempts', String(attempts), '--concurrency', '2'];
const SummarySchema = z.object({ planned: z.int(), counted: z.int() });
const LockSchema = z.object({ address: z.string() });

/** The address of the server that a running command started. */
async function addressOf(running: Running): Promise<string> {
  return await reach(running, 'the embedded server', async () => {
    const file = path.join(scene.store, '.passband/temporal.lock');
    const text = await readFile(file, 'utf8').catch(() => null);
    const address = text === null ? '' : LockSchema.parse(JSON.parse(text)).address;
    return address !== '' && address;
  });
}

const countedOf = async (sweep: string): Promise<number> => (await verdictsOf(scene.store, sweep)).length;

async function expectWhole(stdout: string, sweep: string, planned: number): Promise<void> {
  expect(SummarySchema.parse(JSON.parse(stdout))).toEqual({ planned, counted: planned });
  const verdicts = await verdictsOf(scene.store, sweep);
  const trials = verdicts.map(({ trial }) => `${trial.task} ${trial.attempt}`);
  expect(trials).toHaveLength(planned);
  expect(new Set(trials).size).toBe(planned);
  expect(verdicts.filter(({ generation }) => generation !== 1)).toEqual([]);
}

test('a second command on a store is told how to join the first, and joins it', async () => {
  const first = scene.start(command('first', ...k));
  const address = await addressOf(first);

  const alone = await scene.run(command('second', '--attempts', '1'));
  expectFailure(alone, 69, new RegExp(`process ${first.pid} runs .*join it with --temporal ${address}`));

  const joined = await scene.run(command('second', '--attempts', '1', '--temporal', address));
  expectCode(joined, 0);
  await expectWhole(joined.stdout, 'second', 2);

  const ended = await first.ended;
  expectCode(ended, 0);
  await expectWhole(ended.stdout, 'first', 2 * attempts);
});

test('the same sweep followed by two commands at once ends once, and alike', async () => {
  const first = scene.start(command('shared', ...k));
  const address = await addressOf(first);
  const second = await scene.run(command('shared', ...k, '--temporal', address));
  const ended = await first.ended;
  expectCode(ended, 0);
  expectCode(second, 0);
  expect(JSON.parse(second.stdout)).toEqual(JSON.parse(ended.stdout));
  await expectWhole(ended.stdout, 'shared', 2 * attempts);
});

test('a second worker helps, drains when it is told to, and nothing is counted twice', async () => {
  const running = scene.start(command('helped', ...k));
  const address = await addressOf(running);
  const worker = scene.start(['worker', '--temporal', address]);
  await reach(worker, 'an episode of the second worker', () =>
    worker.said().includes('"phase":"runEpisode"'),
  );
  worker.kill('SIGTERM');
  expectCode(await worker.ended, 0);
  expect(await countedOf('helped')).toBeLessThan(2 * attempts);

  const ended = await running.ended;
  expectCode(ended, 0);
  await expectWhole(ended.stdout, 'helped', 2 * attempts);
});

test('a cancelled sweep ends its command with what is counted, and goes on when it is started again', async () => {
  const running = scene.start(command('cancelled', ...k));
  await reach(running, 'a verdict', async () => (await countedOf('cancelled')) > 0);
  const status = await scene.run(['sweep', 'status', 'cancelled', '--json']);
  expectCode(status, 0);
  expect(JSON.parse(status.stdout)).toMatchObject({
    planned: 2 * attempts,
    running: { planned: 2 * attempts },
  });
  expectCode(await scene.run(['sweep', 'cancel', 'cancelled']), 0);
  const ended = await running.ended;
  expectCode(ended, 3);
  const { counted } = SummarySchema.parse(JSON.parse(ended.stdout));
  expect(counted).toBeLessThan(2 * attempts);
  const again = await scene.run(command('cancelled', ...k));
  expectCode(again, 0);
  expect(SummarySchema.parse(JSON.parse(again.stdout))).toEqual({
    planned: 2 * attempts,
    counted: 2 * attempts,
  });
});
