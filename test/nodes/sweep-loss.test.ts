// What a cluster takes away in the middle of a sweep: a trial's pod, a node. Every trial is counted in the end, by another generation.
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FailureRecord, Verdict } from '../../domain/verdict.ts';
import { startKnownRateServer, type KnownRateServer } from '../../instruments/known-rate/server.ts';
import { readKnownTasks } from '../../instruments/known-tasks.ts';
import { ownCluster, startTestCluster, type TestCluster, type TestNamespace } from '../support/cluster.ts';
import { namesIn } from '../support/cluster-names.ts';
import {
  expectCalibrated,
  expectOnly,
  failuresIn,
  nameOf,
  openClusterScene,
  verdictsIn,
  workingTrials,
  writeDriverFile,
  type ClusterScene,
  type Working,
} from '../support/cluster-sweep.ts';
import { expectCode, reach, until, type Ended } from '../support/passband.ts';
import { writeTasks } from '../support/small-tasks.ts';

const sweep = 'lost';
const model = 'known-rate-1';
const attempts = 4;
const gradeTimeoutMs = 600_000;

describe.runIf(ownCluster)('a sweep that loses a pod and a node', () => {
  let cluster: TestCluster;
  let namespace: TestNamespace;
  let at: ClusterScene;
  let server: KnownRateServer;
  let before: readonly string[];
  let deleted: Working;
  let cutOff: readonly Working[];
  let ended: Ended;
  let verdicts: readonly Verdict[];
  let failures: readonly FailureRecord[];

  beforeAll(async () => {
    cluster = await startTestCluster();
    namespace = await cluster.namespace('passband-sweep-loss');
    at = await openClusterScene(cluster);
    before = await namesIn(cluster, namespace.name);
    const tasks = await writeTasks(path.join(at.scene.dir, 'tasks'), { hello: {} });
    // Slow enough to be met in the middle.
    const known = { tasks: await readKnownTasks(tasks), models: [model], seed: 7, latencyMs: 4_000 };
    server = await startKnownRateServer(known);
    const running = at.start([
      ...['sweep', 'start', '--tasks', tasks, '--model', `${model}=${server.url}`, '--name', sweep, '--json'],
      ...['--attempts', String(attempts), '--concurrency', String(attempts), '--sandbox', 'kubernetes'],
      ...['--kubernetes', await writeDriverFile(at, namespace.name, { nodeGraceSec: 5 })],
    ]);
    const working = await reach(running, 'two episodes', async () => {
      const found = await workingTrials(at.store, sweep, 1);
      return found.length > 1 && found;
    });
    const [first, ...others] = working;
    deleted = first ?? expect.fail('no trial');
    const node = cluster.node(others[0]?.node ?? '');
    cutOff = others.filter((other) => other.node === node.name);
    const force = ['--grace-period=0', '--force', '--wait=false'];
    await cluster.kubectl('delete', 'pod', deleted.pod, '--namespace', namespace.name, ...force);
    try {
      await node.kill();
      await until('the loss of what was on the node', async () => {
        const lost = (await failuresIn(at.store, sweep)).map(nameOf);
        return cutOff.every(({ trial }) => lost.includes(trial));
      });
    } finally {
      await node.back();
    }
    ended = await running.ended;
    verdicts = await verdictsIn(at.store, sweep);
    failures = await failuresIn(at.store, sweep);
  }, gradeTimeoutMs);

  afterAll(async () => {
    await server.close();
    await at.close();
    await namespace.remove();
  });

  const generationOf = ({ trial }: Working): number =>
    verdicts.find((verdict) => nameOf(verdict) === trial)?.generation ?? 0;

  test('counts every attempt, and each as its model meant it', async () => {
    expectCode(ended, 0);
    expect(JSON.parse(ended.stdout)).toMatchObject({ planned: attempts, counted: attempts, failures: {} });
    await expectCalibrated(at, sweep, attempts);
  });

  test('C36: a trial whose pod is deleted is begun anew in the same attempt', () => {
    expect(generationOf(deleted)).toBeGreaterThan(1);
    expect(failures.filter((record) => nameOf(record) === deleted.trial)[0]).toMatchObject({
      ...{ generation: 1, failureClass: 'SandboxLost', phase: 'runEpisode' },
    });
  });

  test('a trial whose node is switched off is begun anew in the same attempt', () => {
    for (const one of cutOff) {
      expect(generationOf(one)).toBeGreaterThan(1);
      expect(failures.filter((record) => nameOf(record) === one.trial)[0]).toMatchObject({
        ...{ generation: 1, failureClass: 'SandboxLost' },
      });
    }
  });

  test('every lost generation is the platform’s: SandboxLost, and nothing else', () => {
    expect(new Set(failures.map(({ failureClass }) => failureClass))).toEqual(new Set(['SandboxLost']));
  });

  test('leaves nothing in the namespace, of lost generations neither', async () => {
    await expectOnly(cluster, namespace.name, before);
  });
});
