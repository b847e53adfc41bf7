// A sweep under the bash scaffold: native tool calls in real sandboxes, graded as their model meant, beside Terminus-2.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { ObservationRecordSchema, ReplyRecordSchema } from '../../domain/episode.ts';
import { ensureBase } from '../support/base-image.ts';
import { CountsSchema, expectCode, openScene, type Scene } from '../support/passband.ts';
import { copyExamples } from '../support/small-tasks.ts';
import { verdictsOf } from '../support/store-files.ts';

const taskNames = ['access-report', 'staged-import'];
const models = ['known-rate-0.5', 'known-rate-1'];
const attempts = 2;
const planned = taskNames.length * models.length * attempts;
const sweep = 'bash';

let scene: Scene;
let tasks: string;
beforeAll(async () => {
  await ensureBase();
  scene = await openScene();
  tasks = await copyExamples(path.join(scene.dir, 'tasks'), taskNames);
});
afterAll(async () => {
  await scene.close();
});

/** The turn records of all trials that end so, parsed. */
async function recordsOf<T>(ending: string, schema: z.ZodType<T>): Promise<T[]> {
  const folder = path.join(scene.store, 'v1/sweeps', sweep, 'trials');
  const names = await readdir(folder, { recursive: true });
  const own = names.filter((name) => name.endsWith(ending)).sort();
  return await Promise.all(
    own.map(async (name) => schema.parse(JSON.parse(await readFile(path.join(folder, name), 'utf8')))),
  );
}

test('bash: every verdict is what its model meant, and the calls are recorded as they were made', async () => {
  const command = ['sweep', 'start', '--tasks', tasks, ...models.flatMap((model) => ['--model', model])];
  const ended = await scene.run([
    ...command,
    ...[
      '--scaffold',
      'bash',
      '--attempts',
      String(attempts),
      '--concurrency',
      '4',
      '--name',
      sweep,
      '--json',
    ],
  ]);
  expectCode(ended, 0);
  expect(CountsSchema.parse(JSON.parse(ended.stdout))).toEqual({ planned, counted: planned, failures: {} });

  const calibration = await scene.run(['calibrate', sweep, '--json']);
  expectCode(calibration, 0);
  expect(JSON.parse(calibration.stdout)).toMatchObject({
    ok: true,
    agree: planned,
    disagree: [],
    missing: [],
  });

  const verdicts = await verdictsOf(scene.store, sweep);
  expect(verdicts.map(({ trial }) => trial.scaffold)).toEqual(verdicts.map(() => 'bash'));
  // All that the shell keeps between calls lies in memory: it is no part of anybody's work.
  expect(JSON.stringify(verdicts)).not.toContain('passband-shell');

  const replies = await recordsOf('-reply.json', ReplyRecordSchema);
  const observations = await recordsOf('-observation.json', ObservationRecordSchema);
  const calls = replies.flatMap(({ toolCalls }) => toolCalls ?? []);
  expect(calls.length).toBeGreaterThanOrEqual(observations.length);
  expect(observations.length).toBeGreaterThan(planned);
  expect(new Set(observations.map(({ kind }) => kind))).toEqual(new Set(['run']));
  expect(replies.every(({ completionIds }) => completionIds !== null)).toBe(true);
  await scene.expectNothingLeft();
});

test('bash: its options are part of the plan: with submit and another prompt it is another sweep, and agrees too', async () => {
  await writeFile(path.join(scene.dir, 'prompt.txt'), 'Do the task with the tool bash, then call submit.\n');
  const file = path.join(scene.dir, 'submit.yaml');
  await writeFile(
    file,
    [
      'name: submit',
      `tasks: ${path.join(tasks, taskNames[0] ?? '')}`,
      'models: [{ name: known-rate-1 }]',
      'scaffolds:',
      '  - name: bash',
      '    options: { finish: submit, tool_choice: required, prompt: prompt.txt, output_limit_bytes: 2000 }',
      'attempts: 2',
      '',
    ].join('\n'),
  );
  expectCode(await scene.run(['sweep', 'start', file, '--json']), 0);
  const calibration = await scene.run(['calibrate', 'submit', '--json']);
  expectCode(calibration, 0);
  expect(JSON.parse(calibration.stdout)).toMatchObject({ ok: true, agree: 2, missing: [] });
});
