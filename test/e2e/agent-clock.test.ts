// The agent's clock: a model that is slow, that fails now and then, or that is away for a while gives the rates of a fast one.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Faults } from '../../instruments/known-rate/faults.ts';
import { startKnownRateServer } from '../../instruments/known-rate/server.ts';
import { readKnownTasks } from '../../instruments/known-tasks.ts';
import { ensureBase } from '../support/base-image.ts';
import { CountsSchema, expectCode, openScene, type Scene } from '../support/passband.ts';
import { copyExamples } from '../support/small-tasks.ts';
import { verdictsOf } from '../support/store-files.ts';

const taskNames = ['access-report', 'team-permissions'];
const model = 'known-rate-0.5';
const attempts = 3;
const planned = taskNames.length * attempts;
/** More than a turn's tokens a second take at the fast rate, and less than they take at the slow one. */
const agentSec = 8;
const slowTokensPerSecond = 12;

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

interface Speed {
  readonly tokensPerSecond?: number;
  readonly faults?: Faults;
}

/** Grades under one clock with a server of this speed. Answers each trial's ending and result, by task and attempt. */
async function outcomesAt(
  name: string,
  clock: 'charged' | 'nominal',
  speed: Speed,
): Promise<ReadonlyMap<string, string>> {
  const known = await readKnownTasks(tasks);
  const server = await startKnownRateServer({ tasks: known, models: [model], seed: 7, ...speed });
  const file = path.join(scene.dir, `${name}.yaml`);
  await writeFile(
    file,
    [
      `name: ${name}`,
      `tasks: ${tasks}`,
      'models:',
      `  - { name: ${model}, endpoint: ${server.url}, nominal_tokens_per_second: 1000 }`,
      'scaffolds: [terminus-2]',
      `attempts: ${attempts}`,
      'concurrency: 4',
      `limits: { agent_sec: ${agentSec} }`,
      `clock: ${clock}`,
      '',
    ].join('\n'),
  );
  try {
    const ended = await scene.run(['sweep', 'start', file, '--json']);
    expectCode(ended, 0);
    expect(CountsSchema.parse(JSON.parse(ended.stdout))).toEqual({
      planned,
      counted: planned,
      failures: {},
    });
  } finally {
    await server.close();
  }
  const verdicts = await verdictsOf(scene.store, name);
  return new Map(
    verdicts
      .map(({ trial: { task, attempt }, ending, result }): [string, string] => [
        `${task} ${attempt}`,
        `${ending} ${result}`,
      ])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

const passes = (outcomes: ReadonlyMap<string, string>): number =>
  [...outcomes.values()].filter((outcome) => outcome.endsWith(' passed')).length;

test('one model has one rate: fast, slow under the nominal clock, and flapping under either clock', async () => {
  const fast = await outcomesAt('fast', 'charged', {});
  expect(fast.size).toBe(planned);
  expect(passes(fast)).toBeGreaterThan(0);
  expect(passes(fast)).toBeLessThan(planned);

  // Without the nominal clock it would be the server that fails here: the test of the test.
  const slow = { tokensPerSecond: slowTokensPerSecond };
  expect(passes(await outcomesAt('slow-charged', 'charged', slow))).toBeLessThan(passes(fast));
  expect(await outcomesAt('slow-nominal', 'nominal', slow)).toEqual(fast);

  // Every other request is refused, and half a minute of it is no answer at all: longer than what is tried in place.
  const flapping = (): Speed => {
    let awayFrom = Infinity;
    return {
      faults: ({ arrival }) => {
        if (arrival === 5) awayFrom = performance.now();
        const awaySince = performance.now() - awayFrom;
        if (awaySince >= 0 && awaySince < 30_000) return { kind: 'status', status: 503 };
        return arrival % 3 === 1 ? { kind: 'cut', afterChunks: 1 } : null;
      },
    };
  };
  expect(await outcomesAt('flapping-charged', 'charged', flapping())).toEqual(fast);
  expect(await outcomesAt('flapping-nominal', 'nominal', flapping())).toEqual(fast);
});
