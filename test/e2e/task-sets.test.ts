// Task sets as they come: good tasks beside broken ones, graded by the whole product. No denominator shrinks in silence.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { planKey } from '../../domain/layout.ts';
import { PlanSchema } from '../../domain/sweep.ts';
import { ensureBase } from '../support/base-image.ts';
import { expectCode, expectRefusal, openScene, reach, type Scene } from '../support/passband.ts';
import { serveSolutions } from '../support/scripted-agents.ts';
import { writeTasks, type TaskFiles } from '../support/small-tasks.ts';
import { verdictsOf } from '../support/store-files.ts';

let scene: Scene;
let tasks: string;
beforeAll(ensureBase);
beforeEach(async () => {
  scene = await openScene();
  tasks = path.join(scene.dir, 'tasks');
});
afterEach(async () => {
  try {
    await scene.expectNothingLeft();
  } finally {
    await scene.close();
  }
});

const SummarySchema = z.object({
  planned: z.int(),
  counted: z.int(),
  coverage: z.number(),
  rejected: z.array(
    z.object({
      task: z.string(),
      file: z.string().nullable(),
      key: z.string().nullable(),
      line: z.int().nullable(),
      reason: z.string(),
      message: z.string(),
    }),
  ),
  results: z.record(z.string(), z.int()),
});

const toml = (...lines: string[]): string => ['schema_version = "1.0"', ...lines, ''].join('\n');
const script = (...lines: string[]): string => ['#!/bin/bash', ...lines, ''].join('\n');

test('C04 C09 C10 C56: good tasks are graded, and each that is not is listed with file, key, line and reason', async () => {
  const unanswered = 'exec 3<>/dev/tcp/203.0.113.10/80';
  const set: Record<string, TaskFiles> = {
    good: {},
    // From a nop it leaves no reward: it fails, and the gate is good.
    mute: {
      'tests/test.sh': script(
        'set -e',
        'grep -qx hello /work/hello.txt',
        'echo 1 > /logs/verifier/reward.txt',
      ),
    },
    'broken-toml': { 'task.toml': toml('[agent]', '[agent]') },
    'bad-value': { 'task.toml': toml('[agent]', 'timeout_sec = -1') },
    'no-test': { 'tests/test.sh': null },
    gpu: { 'task.toml': toml('[environment]', 'gpus = 1') },
    'no-solution': { 'solution/solve.sh': null },
    'oracle-fails': { 'solution/solve.sh': script('echo goodbye > /work/hello.txt') },
    'nop-passes': { 'tests/test.sh': script('echo 1 > /logs/verifier/reward.txt') },
    'build-fails': { 'environment/Dockerfile': 'FROM debian:12\nRUN exit 3\n' },
    'wants-network': {
      'task.toml': toml('[environment]', 'network_mode = "public"', 'workdir = "/work"'),
      'solution/solve.sh': script('set -e', unanswered, 'echo hello > /work/hello.txt'),
    },
  };
  await writeTasks(tasks, set);
  const command = ['sweep', 'start', '--tasks', tasks, '--model', 'known-rate-1', '--attempts', '2'];
  const ended = await scene.run([...command, '--name', 'mixed', '--json']);
  expectCode(ended, 0);
  const summary = SummarySchema.parse(JSON.parse(ended.stdout));
  expect(summary).toMatchObject({ planned: 4, counted: 4, coverage: 1, results: { passed: 4 } });
  const rejected = summary.rejected.map(({ task, file, key, line, reason }) => [
    task,
    reason,
    file,
    key,
    line,
  ]);
  expect(rejected.sort()).toEqual([
    ['bad-value', 'invalid', 'bad-value/task.toml', 'agent.timeout_sec', 3],
    ['broken-toml', 'invalid', 'broken-toml/task.toml', null, 3],
    ['build-fails', 'build-fails', null, null, null],
    ['gpu', 'unsupported', 'gpu/task.toml', 'environment.gpus', 3],
    ['no-solution', 'no-oracle', null, null, null],
    ['no-test', 'invalid', 'no-test/tests/test.sh', null, null],
    ['nop-passes', 'nop-passes', null, null, null],
    ['oracle-fails', 'oracle-fails', null, null, null],
    ['wants-network', 'unsolvable-offline', null, null, null],
  ]);
  for (const { message } of summary.rejected) expect(message).toMatch(/^[^\n]+$/);
  expect((await verdictsOf(scene.store, 'mixed')).map(({ trial }) => trial.task)).toEqual([
    ...['good', 'good', 'mute', 'mute'],
  ]);

  // The funnel of the same set, from the gates that the sweep has left.
  const audit = await scene.run(['audit', tasks, '--json']);
  expectCode(audit, 3);
  expect(JSON.parse(audit.stdout)).toMatchObject({
    ...{ read: 7, built: 6, oraclePasses: 3, nopFails: 2, kept: 2, unformed: [] },
  });
});

test('C09: a task without a solution runs with --unaudited, and its verdicts say so', async () => {
  await writeTasks(tasks, { 'no-solution': { 'solution/solve.sh': null } });
  const command = ['sweep', 'start', '--tasks', tasks, '--model', 'known-rate-1', '--scaffold', 'nop'];
  const refused = await scene.run([...command, '--attempts', '1', '--name', 'audited', '--json']);
  // Nothing is planned any more: coverage is no 1.
  expectCode(refused, 3);
  expect(SummarySchema.parse(JSON.parse(refused.stdout))).toMatchObject({
    planned: 0,
    rejected: [{ task: 'no-solution', reason: 'no-oracle' }],
  });
  const ended = await scene.run([
    ...command,
    '--attempts',
    '1',
    '--unaudited',
    '--name',
    'unaudited',
    '--json',
  ]);
  expectCode(ended, 0);
  const [verdict] = await verdictsOf(scene.store, 'unaudited');
  expect(verdict).toMatchObject({ oracleVerified: false, result: 'failed', ending: 'completed' });
});

test('C27: a solution that makes the tests hang is failed with verifier-timeout, counted, and not tried again', async () => {
  await writeTasks(tasks, {
    hangs: {
      'task.toml': toml(
        ...['[agent]', 'timeout_sec = 20', '[verifier]', 'timeout_sec = 4'],
        ...['[environment]', 'workdir = "/work"'],
      ),
      'solution/solve.sh': script('echo "echo hello" > /work/say.sh'),
      'tests/test.sh': script(
        'echo 0 > /logs/verifier/reward.txt',
        '[ "$(bash /work/say.sh)" = hello ] && echo 1 > /logs/verifier/reward.txt',
      ),
    },
  });
  const model = 'known-rate-1';
  const hanging = Buffer.from(script('echo "sleep 1000" > /work/say.sh'));
  const server = await serveSolutions(tasks, model, () => hanging);
  try {
    const flags = ['--model', `${model}=${server.url}`, '--attempts', '2', '--name', 'hangs', '--json'];
    const ended = await scene.run(['sweep', 'start', '--tasks', tasks, ...flags]);
    expectCode(ended, 0);
    expect(SummarySchema.parse(JSON.parse(ended.stdout))).toMatchObject({ planned: 2, counted: 2 });
  } finally {
    await server.close();
  }
  const verdicts = await verdictsOf(scene.store, 'hangs');
  expect(
    verdicts.map(({ result, detail, ending, generation }) => [result, detail, ending, generation]),
  ).toEqual([
    ['failed', 'verifier-timeout', 'completed', 1],
    ['failed', 'verifier-timeout', 'completed', 1],
  ]);
});

test('C57: a test.sh whose own download fails leaves no reward: failed as no-reward, counted, and not tried again', async () => {
  await writeTasks(tasks, {
    downloads: {
      'solution/solve.sh': script('echo hello > /work/hello.txt', 'touch /work/cached'),
      'tests/test.sh': script(
        'set -e',
        '[ -f /work/cached ] || exec 3<>/dev/tcp/203.0.113.10/80',
        'grep -qx hello /work/hello.txt && echo 1 > /logs/verifier/reward.txt',
      ),
    },
  });
  const model = 'known-rate-1';
  const uncached = Buffer.from(script('echo hello > /work/hello.txt'));
  const server = await serveSolutions(tasks, model, () => uncached);
  try {
    const flags = ['--model', `${model}=${server.url}`, '--attempts', '2', '--name', 'downloads', '--json'];
    const ended = await scene.run(['sweep', 'start', '--tasks', tasks, ...flags]);
    expectCode(ended, 0);
    expect(SummarySchema.parse(JSON.parse(ended.stdout))).toMatchObject({
      planned: 2,
      counted: 2,
      coverage: 1,
    });
  } finally {
    await server.close();
  }
  const verdicts = await verdictsOf(scene.store, 'downloads');
  expect(
    verdicts.map(({ result, detail, reward, generation }) => [result, detail, reward, generation]),
  ).toEqual([
    ['failed', 'no-reward', null, 1],
    ['failed', 'no-reward', null, 1],
  ]);
});

test('a task folder that changes during a sweep changes nothing of it: its digest is pinned', async () => {
  const attempts = 4;
  await writeTasks(tasks, { pinned: {} });
  const command = [
    ...['sweep', 'start', '--tasks', tasks, '--model', 'known-rate-1', '--attempts', String(attempts)],
    ...['--concurrency', '1', '--name', 'pinned', '--json'],
  ];
  const running = scene.start(command);
  await reach(running, 'a verdict', async () => (await verdictsOf(scene.store, 'pinned')).length > 0);
  await writeFile(path.join(tasks, 'pinned/tests/test.sh'), script('echo 0 > /logs/verifier/reward.txt'));
  await writeFile(path.join(tasks, 'pinned/instruction.md'), 'Write goodbye.\n');
  const ended = await running.ended;
  expectCode(ended, 0);
  const plan = PlanSchema.parse(
    JSON.parse(await readFile(path.join(scene.store, planKey('pinned')), 'utf8')),
  );
  const verdicts = await verdictsOf(scene.store, 'pinned');
  expect(verdicts.map(({ result, trial }) => [result, trial.taskDigest])).toEqual(
    Array.from({ length: attempts }, () => ['passed', plan.tasks[0]?.digest]),
  );
  // Asked for again, it is another plan: said, and not mixed into this one.
  expectRefusal(await scene.run(command), 2, /sweep pinned has another plan.*task pinned: digest/);
});
