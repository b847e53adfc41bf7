// The sample tasks, graded on two nodes by a worker in a pod that the chart installed, held against what their models meant.
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { NetworkProof } from '../../domain/network.ts';
import type { Verdict } from '../../domain/verdict.ts';
import { startKnownRateServer, type KnownRateServer } from '../../instruments/known-rate/server.ts';
import { readKnownTasks } from '../../instruments/known-tasks.ts';
import { ensureBase } from '../support/base-image.ts';
import { startTestCluster, type TestCluster } from '../support/cluster.ts';
import { namesIn } from '../support/cluster-names.ts';
import {
  countReplies,
  expectCalibrated,
  expectOnly,
  failuresIn,
  nameOf,
  openClusterScene,
  proofsOf,
  smallRequests,
  verdictsIn,
  workingTrials,
  type ClusterScene,
} from '../support/cluster-sweep.ts';
import { installChart, type InstalledChart } from '../support/installed-chart.ts';
import { exampleTasks, expectCode, reach, type Ended } from '../support/passband.ts';
import { copyExamples, writeTasks } from '../support/small-tasks.ts';

const release = 'sweep-test';
/** Of this run alone: the Temporal server may still have what an interrupted run left. */
const run = randomUUID().slice(0, 8);
const sweep = `samples-${run}`;
const models = ['known-rate-0.1', 'known-rate-0.5', 'known-rate-0.9'];
const attempts = 2;
const tasks = 9;
const planned = tasks * models.length * attempts;
const seed = 7;
/** Graded by the engine as well: one of two steps, one in shared mode. */
const onEngine = ['staged-import', 'status-service'];
const gradeTimeoutMs = 900_000;

let cluster: TestCluster;
let at: ClusterScene;
let chart: InstalledChart;
let server: KnownRateServer;
let before: readonly string[];

beforeAll(async () => {
  cluster = await startTestCluster();
  at = await openClusterScene(cluster);
  const { registry } = cluster.config(`${release}-trials`);
  chart = await installChart(cluster, release, {
    store: { url: at.storeUrl, credentialsSecret: 's3' },
    kubernetes: { registry, buildkit: { address: buildkitForPods() }, pod: smallRequests },
  });
  before = await namesIn(cluster, chart.trials);
  server = await serve(exampleTasks, models);
}, gradeTimeoutMs);

afterAll(async () => {
  await server.close();
  await at.close();
  await chart.remove();
});

const buildkitForPods = (): string =>
  cluster.buildkit.startsWith('tcp://') ? cluster.buildkit : `tcp://${cluster.host}:1234`;

/** On an address that pods could reach, were they let. */
async function serve(dir: string, names: readonly string[], latencyMs = 0): Promise<KnownRateServer> {
  const known = { tasks: await readKnownTasks(dir), models: names, seed };
  return await startKnownRateServer({ ...known, host: cluster.host, latencyMs });
}

const startArgs = (name: string, dir: string, of: KnownRateServer, names: readonly string[]): string[] => [
  ...['sweep', 'start', '--tasks', dir, ...names.flatMap((model) => ['--model', `${model}=${of.url}`])],
  ...['--seed', String(seed), '--name', name, '--sandbox', 'kubernetes', '--json'],
  ...['--temporal', cluster.temporal, '--namespace', release],
];

describe('a sweep of the sample tasks on two nodes, by a worker under the rights of the chart alone', () => {
  let ended: Ended;
  let verdicts: readonly Verdict[];
  beforeAll(async () => {
    const flags = ['--attempts', String(attempts), '--concurrency', '6'];
    ended = await at.run([...startArgs(sweep, exampleTasks, server, models), ...flags]);
    verdicts = await verdictsIn(at.store, sweep);
  }, gradeTimeoutMs);

  test('counts every trial, and none of them twice', () => {
    expectCode(ended, 0);
    expect(JSON.parse(ended.stdout)).toMatchObject({ planned, counted: planned, coverage: 1, rejected: [] });
    expect(new Set(verdicts.map(nameOf)).size).toBe(planned);
    expect(new Set(verdicts.map(({ driver }) => driver))).toEqual(new Set(['kubernetes']));
  });

  test('uses both nodes', async () => {
    const nodes = (await cluster.kubectl('get', 'nodes', '--output=name')).trim().split('\n');
    const hosts = new Set(verdicts.flatMap(({ sandboxes }) => sandboxes.map(({ host }) => `node/${host}`)));
    expect([...hosts].toSorted()).toEqual(nodes.toSorted());
  });

  test('every verdict is what its model meant', async () => {
    await expectCalibrated(at, sweep, planned);
  });

  test('gives each label the passes that the seed means', async () => {
    const labels = LabelsSchema.parse(await labelsOf(at.run));
    expect(labels).toHaveLength(tasks * models.length);
    const meant = await meantPasses();
    for (const { task, model, passes, n_counted: counted, k } of labels) {
      expect({ task, model, passes }).toEqual({ task, model, passes: meant.get(`${task} ${model}`) ?? 0 });
      expect([counted, k]).toEqual([attempts, attempts]);
    }
  });

  test('reproduces the labels that the engine gives, to the last field', async () => {
    const { scene } = at;
    const dir = await copyExamples(path.join(scene.dir, 'for-the-engine'), onEngine);
    await ensureBase();
    const flags = ['--attempts', String(attempts), '--seed', String(seed), '--name', sweep, '--json'];
    const named = models.flatMap((model) => ['--model', model]);
    expectCode(await scene.run(['sweep', 'start', '--tasks', dir, ...named, ...flags]), 0);
    const [engine, cluster] = [await labelsOf(scene.run), await labelsOf(at.run)];
    expect(engine).toHaveLength(onEngine.length * models.length);
    const those = new Set(engine.map(({ task }) => task));
    expect(cluster.filter(({ task }) => those.has(task))).toEqual(engine);
  });

  test('C51: every sandbox of every verdict was proved closed: barrier, end of the episode, verifier', () => {
    for (const verdict of verdicts) {
      const proofs = proofsOf(verdict);
      for (const [place, proof] of proofs) expectClosed(`${nameOf(verdict)}, ${place}`, proof);
      const step = verdict.steps.find(({ reached }) => reached)?.name ?? '';
      const needed = [`agent ${step}`, `agent ${step} at its end`];
      if (verdict.environmentMode === 'separate') needed.push(`verifier ${step}`);
      expect([...proofs.keys()], nameOf(verdict)).toEqual(expect.arrayContaining(needed));
    }
  });

  test('C42: leaves no pod, owner, Secret or policy in the namespace of trials', async () => {
    await expectOnly(cluster, chart.trials, before);
  });
});

/** The labels of the sweep in the store of those commands. */
async function labelsOf(command: ClusterScene['run']): Promise<readonly { readonly task: string }[]> {
  const ended = await command(['bands', sweep, '--json']);
  expectCode(ended, 0);
  return z.array(z.looseObject({ task: z.string() })).parse(JSON.parse(ended.stdout));
}

const LabelsSchema = z.array(
  z.object({ task: z.string(), model: z.string(), passes: z.int(), n_counted: z.int(), k: z.int() }),
);

/** Attempts that each model means to solve of each task, by `task model`. */
async function meantPasses(): Promise<ReadonlyMap<string, number>> {
  const IntentsSchema = z.object({
    intents: z.array(z.object({ model: z.string(), id: z.string(), solve: z.boolean() })),
  });
  const url = new URL(`/intents?attempts=${attempts}`, server.url);
  const { intents } = IntentsSchema.parse(await (await fetch(url)).json());
  const meant = new Map<string, number>();
  for (const { id, model, solve } of intents) {
    const key = `${id} ${model}`;
    meant.set(key, (meant.get(key) ?? 0) + (solve ? 1 : 0));
  }
  return meant;
}

/** The cluster's places, the configured ones, and those that only the sweep knows of. */
const targets = [
  ...['API server', 'Service', 'kubelet', 'another pod', 'DNS', 'metadata address', 'outside address'],
  ...[`model endpoint ${models[0] ?? ''}`, 'store'],
];

function expectClosed(what: string, proof: NetworkProof): void {
  expect(proof.outcome, what).toBe('denied');
  const outcomes = new Map(proof.probes.map(({ target, outcome }) => [target, outcome]));
  expect([...outcomes.keys()], what).toEqual(expect.arrayContaining(targets));
  expect(
    [...outcomes].filter(([, outcome]) => outcome !== 'denied'),
    what,
  ).toEqual([]);
}

describe("a worker's pod that is deleted in the middle of episodes", () => {
  const killed = `worker-lost-${run}`;
  const model = 'known-rate-1';
  const count = 3;

  test('is followed by another, which goes on in the same sandboxes: no generation is lost, none asked twice', async () => {
    const dir = await writeTasks(path.join(at.scene.dir, 'tasks'), { hello: {} });
    // Slow enough to be met in the middle.
    const slow = await serve(dir, [model], 3_000);
    try {
      const flags = ['--attempts', String(count), '--concurrency', String(count)];
      const running = at.start([...startArgs(killed, dir, slow, [model]), ...flags]);
      const working = await reach(running, 'a trial in the middle of its episode', async () => {
        const found = await workingTrials(at.store, killed, 1);
        return found.length > 0 && found;
      });
      const selector = `--selector=app.kubernetes.io/instance=${release}`;
      const force = ['--grace-period=0', '--force', '--wait=false'];
      await cluster.kubectl('delete', 'pod', '--namespace', release, selector, ...force);
      const ended = await running.ended;
      expectCode(ended, 0);
      expect(JSON.parse(ended.stdout)).toMatchObject({ planned: count, counted: count, failures: {} });
      expect(await failuresIn(at.store, killed)).toEqual([]);
      const verdicts = await verdictsIn(at.store, killed);
      expect(verdicts.map(({ generation, result }) => [generation, result])).toEqual(
        Array.from({ length: count }, () => [1, 'passed']),
      );
      expect(verdicts.map(nameOf)).toEqual(expect.arrayContaining(working.map(({ trial }) => trial)));
      const turns = verdicts.reduce((sum, verdict) => sum + verdict.turns, 0);
      expect(await countReplies(at.store, killed)).toBe(turns);
      await expectOnly(cluster, chart.trials, before);
    } finally {
      await slow.close();
    }
  });
});
