// Every hostile solution in pods, played by an agent through the whole product: none wins under the separate verifier.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Verdict } from '../../domain/verdict.ts';
import type { KnownRateServer } from '../../instruments/known-rate/server.ts';
import { startTestCluster, type TestCluster, type TestNamespace } from '../support/cluster.ts';
import { namesIn } from '../support/cluster-names.ts';
import {
  expectOnly,
  failuresIn,
  openClusterScene,
  proofsOf,
  verdictsIn,
  writeDriverFile,
  type ClusterScene,
} from '../support/cluster-sweep.ts';
import { expectNoWin, readHostile, writeHostileTask } from '../support/hostile.ts';
import { expectCode, root, type Ended } from '../support/passband.ts';
import { serveSolutions } from '../support/scripted-agents.ts';

const sweep = 'hostile';
const served = 'known-rate-1';
const attacks = await readHostile();
const gradeTimeoutMs = 900_000;

let cluster: TestCluster;
let namespace: TestNamespace;
let at: ClusterScene;
let before: readonly string[];
let servers: readonly KnownRateServer[] = [];
let ended: Ended;
let verdicts: ReadonlyMap<string, Verdict>;

beforeAll(async () => {
  cluster = await startTestCluster();
  namespace = await cluster.namespace('passband-hostile');
  at = await openClusterScene(cluster);
  before = await namesIn(cluster, namespace.name);
  const tasks = path.join(at.scene.dir, 'tasks');
  await mkdir(tasks);
  await writeHostileTask(tasks, 'total', 'separate');
  // A model an attack, all on one task: its gate is run once.
  servers = await Promise.all(
    attacks.map(({ name }) => serveSolutions(tasks, served, () => readFile(solutionOf(name)))),
  );
  const file = path.join(at.scene.dir, 'sweep.yaml');
  await writeFile(
    file,
    stringify({
      ...{ name: sweep, tasks, attempts: 1, concurrency: 5, sandbox: 'kubernetes' },
      kubernetes: await writeDriverFile(at, namespace.name),
      models: attacks.map(({ name }, n) => ({ name, endpoint: servers[n]?.url, served_name: served })),
    }),
  );
  ended = await at.run(['sweep', 'start', file, '--json']);
  verdicts = new Map((await verdictsIn(at.store, sweep)).map((verdict) => [verdict.trial.model, verdict]));
}, gradeTimeoutMs);

afterAll(async () => {
  for (const server of servers) await server.close();
  await at.close();
  await namespace.remove();
});

const solutionOf = (name: string): string =>
  path.join(root, 'test/fixtures/hostile/solutions', name, 'solve.sh');

function verdictOf(attack: string): Verdict {
  const verdict = verdicts.get(attack);
  if (verdict === undefined) throw new Error(`${attack} has no verdict: ${ended.stderr}`);
  return verdict;
}

test('every hostile trial is counted: none ends as a failure of the cluster’s, and none runs again', async () => {
  expectCode(ended, 0);
  expect([...verdicts.keys()].sort()).toEqual(attacks.map(({ name }) => name).sort());
  expect(await failuresIn(at.store, sweep)).toEqual([]);
});

describe('under the separate verifier', () => {
  test.each(attacks.map((attack) => [attack.name, attack] as const))(
    'C52: %s does not win',
    (name, attack) => {
      expectNoWin(attack, verdictOf(name));
    },
  );

  test('what an attack could have won with is withheld, and wins once it is put back', () => {
    const winning = attacks.filter(({ winsUnfiltered }) => winsUnfiltered).map(({ name }) => name);
    expect(winning.filter((name) => verdictOf(name).withheld.length === 0)).toEqual([]);
    // Each of them races its own verifier, so that no single one wins for certain.
    expect(winning.filter((name) => verdictOf(name).result === 'disputed')).not.toEqual([]);
  });
});

test('no attack has opened its network: every proof that could be taken says denied', () => {
  for (const [attack, verdict] of verdicts) {
    for (const [place, proof] of proofsOf(verdict)) {
      expect([place, proof.outcome], attack).toEqual([place, 'denied']);
    }
  }
});

test('nothing that a hostile agent started lives on', async () => {
  await expectOnly(cluster, namespace.name, before);
});
