// The demo as its reader runs it, once, and everything that may be asked of the sweep that it leaves.
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { rateOf } from '../../instruments/known-rate/intent.ts';
import {
  exampleTasks,
  expectCode,
  expectRefusal,
  openScene,
  root,
  type Ended,
  type Scene,
} from '../support/passband.ts';
import { filesUnder, verdictsOf } from '../support/store-files.ts';

const models = ['known-rate-0.1', 'known-rate-0.5', 'known-rate-0.9'];
const attempts = 8;

const labelFields = [
  ...['task', 'model', 'scaffold', 'pass_rate', 'band', 'n_counted', 'k', 'split', 'oracle_verified'],
  ...[
    'passes',
    'ci_low',
    'ci_high',
    'p_central',
    'coverage',
    'low',
    'high',
    'disputed',
    'unstable',
    'revision',
  ],
];
const trialFields = [
  ...[
    'task',
    'model',
    'scaffold',
    'attempt',
    'generation',
    'ending',
    'result',
    'failure',
    'counts',
    'reward',
  ],
  ...['assertions', 'withheld', 'agentSeconds', 'wallSeconds', 'firstTokenMs', 'turns', 'outputTokens'],
  ...['startedAt', 'endedAt'],
];

const LabelSchema = z.looseObject({
  task: z.string(),
  model: z.string(),
  scaffold: z.literal('terminus-2'),
  n_counted: z.int(),
  k: z.int(),
  coverage: z.number(),
  oracle_verified: z.boolean(),
});
const DemoSchema = z.strictObject({
  sweep: z.string(),
  planned: z.int(),
  counted: z.int(),
  rejected: z.array(z.unknown()),
  labels: z.array(LabelSchema),
});
const TrialsSchema = z.array(
  z.looseObject({
    task: z.string(),
    model: z.string(),
    scaffold: z.string(),
    attempt: z.int(),
    counts: z.boolean(),
    turns: z.int(),
  }),
);

let scene: Scene;
let tasks: readonly string[];
let ended: Ended;
let document: z.infer<typeof DemoSchema>;

const runDemo = (): Promise<Ended> =>
  scene.run(['--json'], { command: ['npm', 'run', 'demo', '--'], cwd: root });

beforeAll(async () => {
  scene = await openScene();
  tasks = (await readdir(exampleTasks)).map((name) => `passband/${name}`).sort();
  ended = await runDemo();
  expectCode(ended, 0);
  document = DemoSchema.parse(JSON.parse(ended.stdout));
});

afterAll(async () => {
  await scene.close();
});

describe('npm run demo -- --json', () => {
  test('ends with nothing left running', async () => {
    await scene.expectNothingLeft();
  });

  test('prints one JSON document: every planned trial counted, no task rejected', () => {
    expect(document).toMatchObject({
      sweep: 'demo',
      planned: tasks.length * models.length * attempts,
      counted: tasks.length * models.length * attempts,
      rejected: [],
    });
  });

  test('labels every sample task and model, n_counted = k everywhere, each by its audited oracle', () => {
    const named = document.labels.map(({ task, model }) => `${task} ${model}`).sort();
    expect(named).toEqual(tasks.flatMap((task) => models.map((model) => `${task} ${model}`)).sort());
    for (const label of document.labels) {
      expect(label).toMatchObject({ n_counted: attempts, k: attempts, coverage: 1, oracle_verified: true });
      expect(Object.keys(label).sort()).toEqual([...labelFields].sort());
    }
  });

  test('drives every trial through two or more turns', async () => {
    const turns = (await verdictsOf(scene.store, 'demo')).map((verdict) => verdict.turns);
    expect(Math.min(...turns)).toBeGreaterThanOrEqual(2);
  });

  test('the same command again answers from the same sweep, with the same document', async () => {
    const before = await filesUnder(scene.store, 'v1/sweeps');
    const startedAt = performance.now();
    const again = await runDemo();
    expectCode(again, 0);
    expect(JSON.parse(again.stdout)).toEqual(JSON.parse(ended.stdout));
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    expect(await filesUnder(scene.store, 'v1/sweeps')).toEqual(before);
  });
});

describe('what is read from its store', () => {
  test('calibrate agrees, verdict by verdict', async () => {
    const calibration = await scene.run(['calibrate', 'demo', '--json']);
    expectCode(calibration, 0);
    expect(JSON.parse(calibration.stdout)).toMatchObject({
      ok: true,
      agree: document.counted,
      disagree: [],
      missing: [],
    });
  });

  test('calibrate with another seed disagrees: it does not agree with just anything', async () => {
    const calibration = await scene.run(['calibrate', 'demo', '--seed', '8', '--json']);
    expectCode(calibration, 1);
    expect(JSON.parse(calibration.stdout)).toMatchObject({ ok: false });
  });

  test('bands writes labels.jsonl with the published fields and no others', async () => {
    const file = path.join(scene.dir, 'labels.jsonl');
    const bands = await scene.run(['bands', 'demo', '--out', file, '--json']);
    expectCode(bands, 0);
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    expect(lines).toHaveLength(tasks.length * models.length);
    for (const line of lines) {
      expect(Object.keys(LabelSchema.parse(JSON.parse(line))).sort()).toEqual([...labelFields].sort());
    }
    expect(lines.map((line) => LabelSchema.parse(JSON.parse(line)))).toEqual(document.labels);
  });

  test('trial list has one row a planned trial, with the published fields and no others', async () => {
    const list = await scene.run(['trial', 'list', 'demo', '--json']);
    expectCode(list, 0);
    const rows = TrialsSchema.parse(JSON.parse(list.stdout));
    const names = rows.map(({ task, model, attempt }) => `${task} ${model} ${attempt}`);
    expect(new Set(names).size).toBe(document.planned);
    for (const row of rows) {
      expect(Object.keys(row).sort()).toEqual([...trialFields].sort());
      expect(row.counts).toBe(true);
    }
  });

  test('the rates of the three models lie in the order of their names', () => {
    const meanOf = (model: string): number => {
      const rates = document.labels
        .filter((label) => label.model === model)
        .map((label) => label['pass_rate']);
      return (
        z
          .array(z.number())
          .parse(rates)
          .reduce((sum, rate) => sum + rate, 0) / rates.length
      );
    };
    const means = models.map(meanOf);
    expect([...means].sort((a, b) => a - b)).toEqual(means);
    expect(models.map(rateOf)).toEqual([0.1, 0.5, 0.9]);
  });
});

describe('another plan under its name', () => {
  test('is refused with the difference, and changes nothing', async () => {
    const before = await filesUnder(scene.store, 'v1/sweeps');
    const flags = ['--tasks', exampleTasks, '--model', 'known-rate-0.5', '--attempts', '2'];
    const refused = await scene.run(['sweep', 'start', ...flags, '--name', 'demo', '--json']);
    expectRefusal(refused, 2, /sweep demo has another plan.*known-rate-0\.5: attempts: 8 in the plan, 2 now/);
    expect(await filesUnder(scene.store, 'v1/sweeps')).toEqual(before);
  });
});
