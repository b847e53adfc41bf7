// Thinking models behind two replicas, one of which is killed: a chat breaks at every turn, ids never do, nothing is lost,
// and what was sampled is scored by its exact ids.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { SequenceScoreSchema } from '../../domain/score.ts';
import { ensureBase } from '../support/base-image.ts';
import { CountsSchema, expectCode, openScene, until, type Running, type Scene } from '../support/passband.ts';
import { copyExamples } from '../support/small-tasks.ts';
import { filesUnder, verdictsOf } from '../support/store-files.ts';

const Listening = z.object({ url: z.url() });
const sweep = 'ids';
const chat = 'known-rate-1';
const inIds = 'known-rate-0.5';
const planned = 2 * 2 * 3;

let scene: Scene;
let tasks: string;
let replicas: readonly { readonly url: string; readonly running: Running }[];

async function serve(port: number): Promise<(typeof replicas)[number]> {
  const models = [chat, inIds].flatMap((model) => ['--model', model]);
  const running = scene.start([
    'known-rate',
    '--tasks',
    tasks,
    ...models,
    '--thinking',
    '--port',
    String(port),
  ]);
  const url = await until('a known-rate server', () => {
    const said = /http:\/\/\S+\/v1/.exec(running.said());
    return said === null ? null : Listening.parse({ url: said[0] }).url;
  });
  return { url, running };
}

beforeAll(async () => {
  await ensureBase();
  scene = await openScene();
  tasks = await copyExamples(path.join(scene.dir, 'tasks'), ['access-report', 'order-totals']);
  replicas = await Promise.all([serve(0), serve(0)]);
});
afterAll(async () => {
  await scene.close();
});

describe('a sweep over two replicas', () => {
  beforeAll(async () => {
    const endpoint = replicas.map(({ url }) => url);
    const request = {
      ...{ name: sweep, tasks, scaffolds: [{ name: 'terminus-2' }], attempts: 3, concurrency: 4 },
      models: [
        { name: chat, endpoint },
        { name: inIds, endpoint, tokens_in: { think_tags: ['<think>', '</think>'] } },
      ],
    };
    await writeFile(path.join(scene.dir, 'sweep.yaml'), stringify(request));
    const grading = scene.start(['sweep', 'start', 'sweep.yaml', '--json']);
    await until('a verdict', async () =>
      (await filesUnder(scene.store, `v1/sweeps/${sweep}/trials`)).some((file) =>
        file.endsWith('verdict.json'),
      ),
    );
    replicas[1]?.running.kill('SIGKILL');
    const ended = await grading.ended;
    expectCode(ended, 0);
    expect(CountsSchema.parse(JSON.parse(ended.stdout))).toEqual({ planned, counted: planned, failures: {} });
  });

  test('counts every attempt as its model meant it, though one replica was killed', async () => {
    const calibration = await scene.run(['calibrate', sweep, '--json']);
    expectCode(calibration, 0);
    expect(JSON.parse(calibration.stdout)).toMatchObject({ ok: true, agree: planned, disagree: [] });
  });

  test('a chat whose thinking is stripped breaks and says why; one in ids never breaks', async () => {
    const told = (await verdictsOf(scene.store, sweep)).flatMap(({ trial, turns, steps }) =>
      steps.map(({ episode }) => ({ model: trial.model, turns, ids: episode?.tokenIds })),
    );
    const broken = told.filter(({ model, turns }) => model === chat && turns > 1);
    expect(broken).not.toEqual([]);
    for (const { ids } of broken) {
      expect(Object.keys(ids?.breaks ?? {})).toEqual(['thinking-stripped']);
    }
    for (const { ids, turns } of told.filter(({ model }) => model === inIds)) {
      expect(ids).toEqual({ exact: turns, breaks: {} });
    }
  });

  test('every sampled token is scored over the ids that it was sampled in', async () => {
    const scored = await scene.run([
      ...['score', sweep, '--endpoint', replicas[0]?.url ?? '', '--model', chat],
      ...['--out', 'scores.jsonl', '--json'],
    ]);
    expectCode(scored, 0);
    const Scores = z.object({
      trials: z.array(z.object({ trial: z.string(), sequences: z.int(), scored: z.int(), tokens: z.int() })),
    });
    const { trials } = Scores.parse(JSON.parse(scored.stdout));
    expect(trials).toHaveLength(planned);
    for (const { trial, sequences, scored: ofThem } of trials) {
      expect(ofThem).toBe(sequences);
      if (trial.includes(inIds)) expect(sequences).toBe(1);
    }
    const lines = (await readFile(path.join(scene.dir, 'scores.jsonl'), 'utf8')).trim().split('\n');
    const sampled = lines
      .map((line) => SequenceScoreSchema.parse(JSON.parse(line)))
      .flatMap(({ completions }) => completions)
      .map(({ ids, teacher }) => [ids.length, teacher?.length]);
    expect(sampled.length).toBeGreaterThan(planned);
    for (const [ids, teacher] of sampled) expect(teacher).toBe(ids);
  });
});
