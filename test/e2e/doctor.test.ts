// passband doctor on a machine that can grade, and on one that lacks something.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { ensureBase } from '../support/base-image.ts';
import { expectCode, openScene, type Scene } from '../support/passband.ts';

let scene: Scene;
beforeAll(async () => {
  await ensureBase();
  scene = await openScene();
});
afterAll(async () => {
  await scene.close();
});

const FindingsSchema = z.object({
  findings: z.array(z.object({ part: z.string(), state: z.string(), mend: z.string().nullable() })),
});

test('a machine that can grade lacks nothing, and nothing is left of the look at it', async () => {
  const ended = await scene.run(['doctor', '--json']);
  expectCode(ended, 0);
  const { findings } = FindingsSchema.parse(JSON.parse(ended.stdout));
  expect(findings.map(({ part }) => part)).toEqual(
    expect.arrayContaining(['node', 'machine', 'disk', 'engine', 'base image', 'temporal', 'store']),
  );
  expect(findings.filter(({ state }) => state === 'lacks')).toEqual([]);
  await scene.expectNothingLeft();
});

test('what is lacking is said with the way to get it, and everything else is looked at all the same', async () => {
  const ended = await scene.run(['doctor', '--temporal', '127.0.0.1:1', '--json'], {
    env: { DOCKER_HOST: 'unix:///nonexistent' },
  });
  expectCode(ended, 69);
  const { findings } = FindingsSchema.parse(JSON.parse(ended.stdout));
  const lacking = findings.filter(({ state }) => state === 'lacks');
  expect(lacking.map(({ part }) => part)).toEqual(['engine', 'temporal']);
  for (const { mend } of lacking) expect(mend).not.toBeNull();
});

test('a store that cannot be made is lacking, and the disk below it is looked at all the same', async () => {
  const ended = await scene.run(['doctor', '--store', '/proc/nowhere/results', '--json']);
  expectCode(ended, 69);
  const { findings } = FindingsSchema.parse(JSON.parse(ended.stdout));
  expect(findings.filter(({ state }) => state === 'lacks').map(({ part }) => part)).toEqual(['store']);
});
