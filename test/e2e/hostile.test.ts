// Every hostile solution, played by an agent through the whole product: none wins under the separate verifier.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Verdict } from '../../domain/verdict.ts';
import type { KnownRateServer } from '../../instruments/known-rate/server.ts';
import { expectNoWin, attackOf, readHostile, serveAttacks, writeHostileTask } from '../support/hostile.ts';
import { expectCode, openScene, type Ended, type Scene } from '../support/passband.ts';
import { verdictsOf } from '../support/store-files.ts';
import { ensureBase } from '../support/base-image.ts';

const model = 'known-rate-1';
const attacks = await readHostile();
const shared = attacks.filter(({ sharedResults }) => sharedResults !== null);

let scene: Scene;
let server: KnownRateServer;
let ended: Ended;
let verdicts: ReadonlyMap<string, Verdict>;

beforeAll(async () => {
  await ensureBase();
  scene = await openScene();
  const tasks = path.join(scene.dir, 'tasks');
  await mkdir(tasks);
  for (const { name } of attacks) await writeHostileTask(tasks, name, 'separate');
  for (const { name } of shared) await writeHostileTask(tasks, `shared-${name}`, 'shared');
  server = await serveAttacks(tasks, model);
  const flags = ['--model', `${model}=${server.url}`, '--attempts', '1', '--concurrency', '4'];
  ended = await scene.run(['sweep', 'start', '--tasks', tasks, ...flags, '--name', 'hostile', '--json']);
  const all = await verdictsOf(scene.store, 'hostile');
  verdicts = new Map(all.map((verdict) => [verdict.trial.task, verdict]));
});

afterAll(async () => {
  await server.close();
  await scene.close();
});

function verdictOf(task: string): Verdict {
  const verdict = verdicts.get(`hostile/${task}`);
  if (verdict === undefined) throw new Error(`${task} has no verdict: ${ended.stderr}`);
  return verdict;
}

test('every hostile trial is counted: none ends as a failure of the machine’s, and none runs again', () => {
  expectCode(ended, 0);
  expect([...verdicts.keys()].map(attackOf).sort()).toEqual(
    [...attacks, ...shared].map(({ name }) => name).sort(),
  );
  expect([...verdicts.values()].filter(({ generation }) => generation !== 1)).toEqual([]);
});

describe('under the separate verifier', () => {
  test.each(attacks.map((attack) => [attack.name, attack] as const))(
    'C52: %s does not win',
    (name, attack) => {
      expectNoWin(attack, verdictOf(name));
    },
  );

  const winning = attacks.filter(({ winsUnfiltered }) => winsUnfiltered).map(({ name }) => name);

  test.each(winning)('%s: what it could have won with is withheld, named, and kept as evidence', (name) => {
    const verdict = verdictOf(name);
    expect(verdict.withheld).not.toEqual([]);
    const [step] = verdict.steps;
    expect(step?.delta).not.toBeNull();
    expect(step?.verification?.output).not.toBeNull();
    // Compiled caches are made by any honest run of Python: they alone are no reason to verify once more.
    if (name === 'bytecode-cache') expect(verdict.result).toBe('failed');
    else expect(step?.verification?.restoredOutput).not.toBeNull();
  });

  test('an attack that wins once what was withheld is put back is disputed', () => {
    // Each of them races its own verifier, so that no single one wins for certain.
    expect(winning.filter((name) => verdictOf(name).result === 'disputed')).not.toEqual([]);
  });
});

describe('in shared mode', () => {
  test.each(shared.map((attack) => [attack.name, attack] as const))(
    'C52: %s does not win there either',
    (name, { sharedResults }) => {
      const verdict = verdictOf(`shared-${name}`);
      expect(verdict.environmentMode).toBe('shared');
      expect(sharedResults).toContain(verdict.result);
      expect(verdict.reward).not.toBe(1);
    },
  );
});

test('nothing that a hostile agent started lives on', async () => {
  await scene.expectNothingLeft();
});
