// A network that is open, and one whose closing cannot be shown: the sweep stops with one line, and nothing is graded.
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { startTestCluster, type TestCluster } from '../support/cluster.ts';
import {
  expectOnly,
  namesIn,
  openClusterScene,
  verdictsIn,
  writeDriverFile,
  type ClusterScene,
} from '../support/cluster-sweep.ts';
import { expectFailure, type Ended } from '../support/passband.ts';
import { writeTasks } from '../support/small-tasks.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startTestCluster();
});

const cases = [
  {
    namespace: 'passband-sweep-open',
    missing: 'passband-deny-all',
    title: 'C50: without the policy that denies all, a sweep stops as EgressOpen before anything is graded',
    line: /^passband: .*egress is open from pb-[a-z0-9-]+: .*API server/,
  },
  {
    namespace: 'passband-sweep-shut',
    missing: 'passband-canary',
    title: 'C50: where the canary does not reach what it must, a sweep stops as EgressUnprovable',
    line: /^passband: .*the canary in namespace passband-sweep-shut, .*does not reach API server/,
  },
] as const;

test.concurrent.for(cases.map((one) => [one.title, one] as const))('%s', async ([, one]) => {
  const { namespace: name, missing, line } = one;
  const namespace = await cluster.namespace(name);
  const at = await openClusterScene(cluster);
  try {
    await cluster.kubectl('delete', 'networkpolicy', missing, '--namespace', name);
    const before = await namesIn(cluster, name);
    const ended = await grade(at, name);
    expectFailure(ended, 2, line);
    expect(await verdictsIn(at.store, name)).toEqual([]);
    await expectOnly(cluster, name, before);
  } finally {
    await at.close();
    await namespace.remove();
  }
});

async function grade(at: ClusterScene, name: string): Promise<Ended> {
  const tasks = await writeTasks(path.join(at.scene.dir, 'tasks'), { hello: {} });
  return await at.run([
    ...['sweep', 'start', '--tasks', tasks, '--model', 'known-rate-1', '--attempts', '1', '--name', name],
    ...['--sandbox', 'kubernetes', '--kubernetes', await writeDriverFile(at, name)],
  ]);
}
