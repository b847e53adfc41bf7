// Ctrl-C at each stage: one line, status 130, nothing left running, and the same command goes on.
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { startTemporal } from '../../embedded/temporal.ts';
import { ensureBase } from '../support/base-image.ts';
import { containersOf } from '../support/left-containers.ts';
import { processesRunning } from '../support/left-processes.ts';
import { expectCode, openScene, reach, root, until, type Ended, type Scene } from '../support/passband.ts';
import { writeTasks, type TaskFiles } from '../support/small-tasks.ts';
import { verdictsOf } from '../support/store-files.ts';
import { snapshotOf } from '../support/trials-in-flight.ts';

let scene: Scene;
beforeAll(ensureBase);
beforeEach(async () => {
  scene = await openScene();
});
afterEach(async () => {
  await scene.close();
});

const attempts = 4;
const command = (tasks: string, model = 'known-rate-1'): string[] => [
  ...['sweep', 'start', '--tasks', tasks, '--model', model, '--attempts', String(attempts)],
  ...['--concurrency', '2', '--name', 'stopped', '--json'],
];

/** Expects a clean end of an interrupted command: the status, the one line of it, nothing left. */
async function expectInterrupted(ended: Ended): Promise<void> {
  expectCode(ended, 130);
  const lines = ended.stderr.split('\n').filter((line) => line.includes('interrupted'));
  expect(lines).toEqual([
    'interrupted: nothing is left running; the same command goes on with sweep stopped',
  ]);
  expect(ended.stderr).not.toMatch(/^passband: /m);
  await scene.expectNothingLeft();
}

const SummarySchema = z.object({ planned: z.int(), counted: z.int(), coverage: z.number() });

async function expectGoesOn(tasks: string, taskCount: number): Promise<void> {
  const again = await scene.run(command(tasks));
  expectCode(again, 0);
  const planned = taskCount * attempts;
  expect(SummarySchema.parse(JSON.parse(again.stdout))).toEqual({ planned, counted: planned, coverage: 1 });
  expect(await verdictsOf(scene.store, 'stopped')).toHaveLength(planned);
  await scene.expectNothingLeft();
}

test('while an image is built: the build ends too, and is done anew by the same command', async () => {
  // A build that no other run has cached, and whose process is found by its own number.
  const building = `sleep 8.${Date.now()}`;
  const dockerfile = `FROM debian:12\nWORKDIR /work\nRUN ${building}\n`;
  const tasks = await writeTasks(path.join(scene.dir, 'tasks'), {
    slow: { 'environment/Dockerfile': dockerfile },
  });
  const running = scene.start(command(tasks));
  const isBuilding = async (): Promise<boolean> => (await processesRunning(building)).length > 0;
  await reach(running, 'the build', isBuilding);
  running.interrupt();
  await expectInterrupted(await running.ended);
  await until('the end of the build’s own process', async () => !(await isBuilding()), 15_000);
  await expectGoesOn(tasks, 1);
});

test('while the gate verifies: the gate is formed by the same command', async () => {
  const slowSolution: TaskFiles = {
    'solution/solve.sh': '#!/bin/bash\nsleep 3\necho hello > /work/hello.txt\n',
  };
  const tasks = await writeTasks(path.join(scene.dir, 'tasks'), { gated: slowSolution });
  const running = scene.start(command(tasks));
  await reach(running, 'a sandbox of the gate', async () => (await containersOf(scene.store)).length > 0);
  running.interrupt();
  await expectInterrupted(await running.ended);
  expect(await verdictsOf(scene.store, 'stopped')).toEqual([]);
  await expectGoesOn(tasks, 1);
});

test('while trials run: what is counted stays, and the same command counts the rest', async () => {
  const tasks = await writeTasks(path.join(scene.dir, 'tasks'), { one: {}, two: {} });
  const running = scene.start(command(tasks));
  await reach(running, 'a counted trial, and another in the middle', async () => {
    const { interrupted } = await snapshotOf(scene.store, 'stopped', 1);
    return interrupted.length > 0 && (await verdictsOf(scene.store, 'stopped')).length > 0;
  });
  running.interrupt();
  await expectInterrupted(await running.ended);
  const counted = await verdictsOf(scene.store, 'stopped');
  expect(counted.length).toBeGreaterThan(0);
  expect(counted.length).toBeLessThan(2 * attempts);
  await expectGoesOn(tasks, 2);
  expect(await verdictsOf(scene.store, 'stopped')).toEqual(expect.arrayContaining(counted));
});

test('while trials run, and again a second later: nothing is left running either', async () => {
  const tasks = await writeTasks(path.join(scene.dir, 'tasks'), { one: {} });
  const running = scene.start(command(tasks));
  await reach(running, 'a trial in the middle', async () => {
    return (await snapshotOf(scene.store, 'stopped', 1)).interrupted.length > 0;
  });
  running.interrupt();
  await reach(running, 'its answer', () => running.said().includes('stopping: '));
  await sleep(1_000);
  running.interrupt();
  await expectInterrupted(await running.ended);
  await expectGoesOn(tasks, 1);
});

test('while debootstrap makes a base image: it ends too, and nothing of it is left', async () => {
  const running = scene.start(['images', 'base', 'passband-test/interrupted:12=debootstrap']);
  await reach(running, 'the first packages in the folder', () => /^I: Extracting/m.test(running.said()));
  running.interrupt();
  const ended = await running.ended;
  expectCode(ended, 130);
  const lines = ended.stderr.split('\n').filter((line) => line.startsWith('passband: '));
  expect(lines).toEqual(['passband: interrupted: nothing was registered']);
  await scene.expectNothingLeft();
});

test('with a server named: the command ends, what it started there goes on, and is followed again', async () => {
  const tasks = await writeTasks(path.join(scene.dir, 'tasks'), {
    slow: { 'solution/solve.sh': '#!/bin/bash\nsleep 2\necho hello > /work/hello.txt\n' },
  });
  const dir = path.join(scene.dir, 'temporal');
  const server = await startTemporal({ dir, binary: null, env: process.env, note: () => undefined });
  const worker = scene.start(['worker', '--temporal', server.address]);
  try {
    // The oracle asks no model: what goes on needs nothing of the command that is interrupted.
    const model = 'known-rate-1=http://127.0.0.1:1/v1';
    const named = [...command(tasks, model), '--scaffold', 'oracle', '--temporal', server.address];
    const running = scene.start(named);
    const started = async (): Promise<boolean> => (await containersOf(scene.store)).length > 0;
    await reach(running, 'a sandbox of the gate', started);
    running.interrupt();
    const ended = await running.ended;
    expectCode(ended, 130);
    expect(ended.stderr.split('\n').filter((line) => line.includes('interrupted'))).toEqual([
      `interrupted: what was started at ${server.address} goes on; passband sweep watch stopped --temporal ${server.address} follows it, passband sweep cancel stopped --temporal ${server.address} ends it`,
    ]);
    const watched = await scene.run(['sweep', 'watch', 'stopped', '--temporal', server.address, '--json']);
    expectCode(watched, 0);
    expect(SummarySchema.parse(JSON.parse(watched.stdout))).toMatchObject({ planned: attempts, coverage: 1 });
  } finally {
    worker.kill('SIGTERM');
    await worker.ended;
    await server.stop();
  }
  await scene.expectNothingLeft();
});

test('npm run demo, interrupted in a terminal, leaves nothing running', async () => {
  const running = scene.start(['--json'], { command: ['npm', 'run', 'demo', '--'], cwd: root });
  await reach(running, 'a sandbox of the demo', async () => (await containersOf(scene.store)).length > 0);
  running.interrupt();
  const ended = await running.ended;
  // npm ends by the signal itself, which a shell shows as 130.
  expect(ended).toMatchObject({ code: null, signal: 'SIGINT' });
  expect(ended.stderr).toMatch(/^interrupted: nothing is left running; npm run demo goes on where it was$/m);
  await scene.expectNothingLeft();
});
