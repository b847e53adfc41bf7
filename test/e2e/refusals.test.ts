// What is wrong with a command or with the machine is said at once, in one line, with the status that scripts rely on.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startTemporal } from '../../embedded/temporal.ts';
import { startKnownRateServer } from '../../instruments/known-rate/server.ts';
import { onMount } from '../support/mounted-store.ts';
import { expectFailure, expectRefusal, openScene, type Scene } from '../support/passband.ts';
import { writeTasks } from '../support/small-tasks.ts';

let scene: Scene;
let tasks: string;
beforeEach(async () => {
  scene = await openScene();
  tasks = await writeTasks(path.join(scene.dir, 'tasks'), { hello: {} });
});
afterEach(async () => {
  try {
    await scene.expectNothingLeft();
  } finally {
    await scene.close();
  }
});

const start = (...more: string[]): string[] => ['sweep', 'start', '--tasks', tasks, ...more];
const known = ['--model', 'known-rate-0.5', '--attempts', '1'];

describe('a command that is not understood', () => {
  test('an unknown flag is named, with where to read what there is', async () => {
    expectRefusal(await scene.run(start('--modle', 'm')), 2, /unknown option '--modle'.*--model.*--help/);
  });

  test('an unknown command is named', async () => {
    expectRefusal(await scene.run(['grade']), 2, /unknown command 'grade'/);
  });

  test('a number that is none names its flag', async () => {
    expectRefusal(await scene.run(start('--attempts', 'many')), 2, /--attempts.*whole number/);
  });

  test('a sweep file with an unknown key names file, line and key', async () => {
    const file = path.join(scene.dir, 'sweep.yaml');
    await writeFile(file, `tasks: ${tasks}\nmodels:\n  - name: known-rate-0.5\natempts: 3\n`);
    expectRefusal(await scene.run(['sweep', 'start', file]), 2, /sweep\.yaml:4: atempts: unknown key/);
  });

  test('a sweep file that is no YAML names file and line', async () => {
    const file = path.join(scene.dir, 'sweep.yaml');
    await writeFile(file, 'tasks: [a\nmodels: b\n');
    expectRefusal(await scene.run(['sweep', 'start', file]), 2, /sweep\.yaml:\d+: not valid YAML/);
  });

  test('a sweep file that is not there is named', async () => {
    expectRefusal(await scene.run(['sweep', 'start', 'none.yaml']), 2, /none\.yaml: cannot be read/);
  });

  test('a scaffold that there is not is named with those that there are', async () => {
    expectRefusal(await scene.run(start(...known, '--scaffold', 'terminus')), 2, /terminus.*terminus-2/);
  });

  test('a model without an endpoint is asked for one', async () => {
    expectRefusal(await scene.run(start('--model', 'm')), 2, /model m has no endpoint/);
  });
});

describe('tasks that are not there', () => {
  test('a folder that does not exist is named', async () => {
    const missing = path.join(scene.dir, 'nowhere');
    expectRefusal(await scene.run(['sweep', 'start', '--tasks', missing, ...known]), 2, /nowhere/);
  });

  test('a folder without tasks is named', async () => {
    const empty = path.join(scene.dir, 'empty');
    await mkdir(empty);
    expectRefusal(await scene.run(['sweep', 'start', '--tasks', empty, ...known]), 2, /empty/);
  });

  test.each(['trial list', 'bands', 'calibrate', 'sweep status'])(
    '%s of a sweep that the store does not have says so, and where nothing was ever written as well',
    async (command) => {
      const store = path.join(scene.dir, 'written');
      await mkdir(path.join(store, 'v1/sweeps/other'), { recursive: true });
      await writeFile(path.join(store, 'v1/sweeps/other/settings.json'), '{}');
      const asked = [...command.split(' '), 'none', '--store'];
      expectRefusal(await scene.run([...asked, store]), 2, /no sweep "none"/);
      expectRefusal(await scene.run([...asked, path.join(scene.dir, 'nothing')]), 2, /no store at .*nothing/);
    },
  );
});

describe('a part that does not answer', () => {
  test('an unreachable model stops the sweep before anything is graded', async () => {
    const ended = await scene.run(start('--model', 'm=http://127.0.0.1:1/v1'));
    expectFailure(ended, 69, /ModelUnavailable.*127\.0\.0\.1:1/);
  });

  test('a model that its server does not serve is named', async () => {
    const server = await startKnownRateServer({ tasks: [], models: ['known-rate-0.5'], seed: 7 });
    try {
      expectFailure(await scene.run(start('--model', `other=${server.url}`)), 2, /ModelNotFound.*other/);
    } finally {
      await server.close();
    }
  });

  test('an unreachable Temporal server is named with its address', async () => {
    const served = ['--model', 'm=http://127.0.0.1:1/v1'];
    const ended = await scene.run(start(...served, '--temporal', '127.0.0.1:1'));
    expectFailure(ended, 69, /no Temporal server answers at 127\.0\.0\.1:1/);
  });

  test('no container engine: the address that nothing answers at is named', async () => {
    const ended = await scene.run(start(...known), { env: { DOCKER_HOST: 'unix:///nonexistent' } });
    expectFailure(ended, 69, /no container engine answers at unix:\/\/\/nonexistent/);
  });

  test('no container engine and none to start: says what to install', async () => {
    const bare = path.dirname(process.execPath);
    const ended = await scene.run(start(...known), { env: { PATH: bare } });
    expectFailure(ended, 69, /no container engine.*install/);
  });

  test('a namespace that the Temporal server does not have is named, and no plan is left', async () => {
    const server = await startTemporal({
      dir: scene.dir,
      binary: null,
      env: process.env,
      note: () => undefined,
    });
    const named = ['--temporal', server.address, '--namespace', 'elsewhere'];
    try {
      const oracle = ['--scaffold', 'oracle', '--name', 'unplanned'];
      const served = ['--model', 'm=http://127.0.0.1:1/v1', '--attempts', '1'];
      expectRefusal(
        await scene.run(start(...served, ...oracle, ...named)),
        69,
        /no namespace elsewhere: make it/,
      );
      expectRefusal(await scene.run(['sweep', 'status', 'unplanned']), 2, /no (sweep "unplanned"|store at)/);
      const worker = await scene.run(['worker', ...named]);
      expect(worker.code).toBe(69);
      expect(worker.stderr).toMatch(
        /^passband: the Temporal server at .* has no namespace elsewhere: make it/m,
      );
    } finally {
      await server.stop();
    }
  });

  test('a known-rate model of this process is refused where the workers are somebody else’s', async () => {
    const ended = await scene.run(start(...known, '--temporal', '127.0.0.1:1'));
    expectRefusal(
      ended,
      2,
      /--temporal: the workers there do not reach known-rate-0\.5.*passband known-rate/,
    );
  });

  test('a worker without its Temporal server ends with one line', async () => {
    const ended = await scene.run(['worker', '--temporal', '127.0.0.1:1']);
    expect(ended.code).toBe(69);
    expect(ended.stderr).toMatch(/^passband: .*127\.0\.0\.1:1/m);
  });
});

describe('a store that cannot be written', () => {
  test('a read-only file system is said at once', async () => {
    const command = onMount(scene.store, 'ro');
    expectRefusal(await scene.run(start(...known), { command }), 2, /read-only file system/);
  });

  test('a full disk is said at once', async () => {
    const command = onMount(scene.store, 'size=1M', `head -c 1M /dev/zero > ${scene.store}/fill || true`);
    const ended = await scene.run(start(...known), { command });
    expectFailure(ended, 69, /StoreUnavailable: no space left for the store/);
  });
});
