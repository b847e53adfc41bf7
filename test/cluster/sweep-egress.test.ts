// A network that is open, or whose closing cannot be shown: the sweep stops with one line, and nothing is graded. What runs in
// a sandbox stops none.
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { startTestCluster, type TestCluster } from '../support/cluster.ts';
import { namesIn } from '../support/cluster-names.ts';
import {
  expectOnly,
  openClusterScene,
  verdictsIn,
  writeDriverFile,
  type ClusterScene,
} from '../support/cluster-sweep.ts';
import { everyPort, portTakers } from '../support/every-port.ts';
import { expectCode, expectFailure, type Ended } from '../support/passband.ts';
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

const portsTask = (mode: 'separate' | 'shared') => ({
  'task.toml': `[agent]\ntimeout_sec = 40.0\n[verifier]\ntimeout_sec = 30.0\nenvironment_mode = "${mode}"\n[environment]\nworkdir = "/work"\n`,
  'environment/Dockerfile':
    'FROM debian:12\nCOPY ports.pl enter.sh /\nWORKDIR /work\nENTRYPOINT ["/bin/sh", "/enter.sh"]\n',
  'environment/enter.sh': `#!/bin/sh
perl /ports.pl &
until [ $(ls /held-* 2>/dev/null | wc -l) = ${portTakers} ]; do sleep 0.1; done
exec "$@"
`,
  'environment/ports.pl': everyPort,
});

test('C50: where what runs in a sandbox takes every port, its trial is proved, graded and counted like any other', async () => {
  const name = 'passband-sweep-ports';
  const namespace = await cluster.namespace(name);
  const at = await openClusterScene(cluster);
  try {
    const tasks = { separate: portsTask('separate'), shared: portsTask('shared') };
    expectCode(await grade(at, name, tasks), 0);
    const verdicts = new Map((await verdictsIn(at.store, name)).map((one) => [one.trial.task, one]));
    expect([...verdicts.keys()].toSorted()).toEqual(['separate', 'shared']);
    for (const { result, generation, sandboxes } of verdicts.values()) {
      expect([result, generation]).toEqual(['passed', 1]);
      expect(sandboxes[0]?.networkAtEnd?.outcome).toBe('denied');
    }
    const warned = (task: string) => verdicts.get(task)?.steps[0]?.verification?.warnings.join(' ');
    expect(warned('shared')).toMatch(
      /everything in the sandbox was ended .* cannot assign requested address/,
    );
    expect(warned('separate')).not.toMatch(/was ended/);
  } finally {
    await at.close();
    await namespace.remove();
  }
});

async function grade(
  at: ClusterScene,
  name: string,
  set: Parameters<typeof writeTasks>[1] = { hello: {} },
): Promise<Ended> {
  const tasks = await writeTasks(path.join(at.scene.dir, 'tasks'), set);
  return await at.run([
    ...['sweep', 'start', '--tasks', tasks, '--model', 'known-rate-1', '--attempts', '1', '--name', name],
    ...['--sandbox', 'kubernetes', '--kubernetes', await writeDriverFile(at, name)],
  ]);
}
