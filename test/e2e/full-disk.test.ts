// A disk that fills up in the middle of a sweep: nothing is lost or half written, and the sweep goes on once there is room.
import { cp, mkdir, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { ensureBase } from '../support/base-image.ts';
import { onMount, seenBy } from '../support/mounted-store.ts';
import { expectCode, openScene, reach, type Scene } from '../support/passband.ts';
import { writeTasks } from '../support/small-tasks.ts';
import { verdictsOf } from '../support/store-files.ts';

const attempts = 6;
const blockBytes = 256 * 1024;

let scene: Scene;
beforeAll(ensureBase);
beforeEach(async () => {
  scene = await openScene();
});
afterEach(async () => {
  await scene.close();
});

/** Writes until there is no room; the last bytes in small pieces. */
async function fill(file: string): Promise<void> {
  const handle = await open(file, 'w');
  try {
    for (let size = blockBytes; size >= 512; size /= 2) {
      for (;;) {
        const written = await handle.write(Buffer.alloc(size)).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'ENOSPC' });
          return null;
        });
        if (written?.bytesWritten !== size) break;
      }
    }
  } finally {
    await handle.close();
  }
}

test('C85: a disk that is full for a while: verdicts stay whole, and every trial is counted in the end', async () => {
  const tasks = await writeTasks(path.join(scene.dir, 'tasks'), { hello: {} });
  const running = scene.start(
    [
      ...['sweep', 'start', '--tasks', tasks, '--model', 'known-rate-1', '--attempts', String(attempts)],
      ...['--concurrency', '1', '--name', 'full', '--json'],
    ],
    { command: onMount(scene.store, 'size=64M'), env: { PASSBAND_DEBUG: '1' } },
  );
  const store = seenBy(running.pid, scene.store);
  await reach(running, 'a verdict', async () => (await verdictsOf(store, 'full')).length > 0);
  // Where the scene finds the store's id when the mount is gone.
  await mkdir(path.join(scene.store, 'v1'), { recursive: true });
  await cp(path.join(store, 'v1/store.json'), path.join(scene.store, 'v1/store.json'));

  const filler = path.join(store, 'filler');
  await fill(filler);
  await reach(running, 'a phase that finds no room', () =>
    running.said().includes('no space left for the store'),
  );
  const whole = await verdictsOf(store, 'full');
  expect(whole.length).toBeLessThan(attempts);
  await rm(filler);

  const ended = await running.ended;
  expectCode(ended, 0);
  const SummarySchema = z.object({ planned: z.int(), counted: z.int(), failures: z.object({}) });
  expect(SummarySchema.parse(JSON.parse(ended.stdout))).toEqual({
    planned: attempts,
    counted: attempts,
    failures: {},
  });
  await scene.expectNothingLeft();
});
