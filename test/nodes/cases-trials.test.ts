// Cases of whole trials on a cluster: how an episode that its own processes, its node or its worker ended is counted.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { trialsPrefix } from '../../domain/layout.ts';
import { FailureRecordSchema, type Verdict } from '../../domain/verdict.ts';
import type { KnownRateServer } from '../../instruments/known-rate/server.ts';
import { openClusterScene, type ClusterScene } from '../support/cluster-scene.ts';
import { ownCluster } from '../support/cluster.ts';
import { processesRunning } from '../support/left-processes.ts';
import { expectCode, reach, type Ended } from '../support/passband.ts';
import { serveSolutions } from '../support/scripted-agents.ts';
import { writeTasks, type TaskFiles } from '../support/small-tasks.ts';
import { filesUnder, verdictsOf } from '../support/store-files.ts';

const model = 'known-rate-1';
const solve = 'echo hello > /work/hello.txt\n';
/** Takes more memory than any of the tasks has. */
const hog = `perl -e '$x = "a" x 600_000_000'`;

const toml = (environment: Readonly<Record<string, number>>): string =>
  [
    ...['schema_version = "1.0"', '[agent]', 'timeout_sec = 90.0', '[verifier]', 'timeout_sec = 30.0'],
    ...['[environment]', 'workdir = "/work"'],
    ...Object.entries({ memory_mb: 128, ...environment }).map(([key, value]) => `${key} = ${value}`),
  ].join('\n');

interface Case {
  readonly files?: TaskFiles;
  readonly agent: string;
}

const cases = {
  'kill-init': {
    agent: `for s in TERM INT HUP QUIT KILL SEGV STOP; do kill -$s 1; done\n${solve}`,
  },
  'kill-all': {
    agent: `trap '' TERM HUP INT\n${solve}while :; do kill -KILL -1; done\n`,
  },
  'eat-child': { agent: `${hog}\n${solve}` },
  'eat-container': {
    files: { 'task.toml': toml({ memory_mb: 64 }) },
    agent: 'i=0; while :; do i=$((i+1)); head -c 4M /dev/zero > /dev/shm/$i || break; done\nsleep 60\n',
  },
  'eat-verifier': {
    files: {
      'tests/test.sh': `#!/bin/bash\nif [ -e /work/hog ]; then ${hog} || exit 1; fi\ngrep -qx hello /work/hello.txt && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n`,
    },
    agent: `touch /work/hog\n${solve}`,
  },
  'fill-disk': {
    files: { 'task.toml': toml({ storage_mb: 100 }) },
    agent: `${solve}head -c 250000000 /dev/zero > /work/full\nsleep 80\n`,
  },
} as const satisfies Record<string, Case>;
type CaseName = keyof typeof cases;

let cluster: ClusterScene;
beforeAll(async () => {
  cluster = await openClusterScene('cases-trials');
});
afterAll(async () => {
  await cluster.close();
});

/** Writes the tasks, and serves a model that types each one's script. */
async function prepare(
  folder: string,
  tasks: Readonly<Record<string, Case>>,
): Promise<{ readonly server: KnownRateServer; readonly start: (name: string) => string[] }> {
  const dir = path.join(cluster.dir, folder);
  const files = Object.entries(tasks).map(([name, { files = {} }]): [string, TaskFiles] => [
    name,
    { 'task.toml': toml({}), ...files },
  ]);
  await writeTasks(dir, Object.fromEntries(files));
  const server = await serveSolutions(dir, model, (task) =>
    Buffer.from(`#!/bin/bash\n${tasks[path.basename(task)]?.agent ?? ''}`),
  );
  const flags = ['--attempts', '1', '--concurrency', '3', '--json', ...cluster.flags];
  return {
    server,
    start: (name) => [
      ...['sweep', 'start', '--tasks', dir, '--model', `${model}=${server.url}`, '--name', name],
      ...flags,
    ],
  };
}

/** What the generations of a sweep's trials left that were not counted. */
async function failuresOf(sweep: string) {
  const folder = path.join(cluster.store, trialsPrefix(sweep));
  const files = (await filesUnder(cluster.store, trialsPrefix(sweep))).filter((file) =>
    file.includes('/failures/'),
  );
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(path.join(folder, file), 'utf8');
      const { failureClass, generation, phase, message, trial } = FailureRecordSchema.parse(JSON.parse(text));
      return { failureClass, generation, phase, message, task: trial.task };
    }),
  );
}

describe('what an agent does to its own sandbox', () => {
  let ended: Ended;
  let verdicts: ReadonlyMap<string, Verdict>;
  beforeAll(async () => {
    const { server, start } = await prepare('own-doing', cases);
    ended = await cluster.run(start('own-doing'));
    await server.close();
    const all = await verdictsOf(cluster.store, 'own-doing');
    verdicts = new Map(all.map((verdict) => [path.basename(verdict.trial.task), verdict]));
  });
  const of = (name: CaseName): Verdict => {
    const verdict = verdicts.get(name);
    if (verdict === undefined) throw new Error(`${name} has no verdict: ${ended.stderr}`);
    return verdict;
  };

  test('counts, every one in its first generation: no free re-roll (C38, C40)', async () => {
    expectCode(ended, 0);
    expect(JSON.parse(ended.stdout)).toMatchObject({ planned: 6, counted: 6, coverage: 1 });
    expect(await failuresOf('own-doing')).toEqual([]);
    expect([...verdicts.values()].map(({ generation }) => generation)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test('kill 1 by any signal does nothing, and the trial goes on (C38)', () => {
    expect(of('kill-init')).toMatchObject({ ending: 'completed', result: 'passed' });
  });

  test('a sandbox in which nothing of ours may live ends as agent-exit (C38)', () => {
    expect(of('kill-all')).toMatchObject({
      ending: 'agent-exit',
      result: 'failed',
      detail: 'no-final-state',
    });
  });

  test('a child out of memory is recorded, and the episode goes on (C40)', () => {
    const verdict = of('eat-child');
    expect(verdict).toMatchObject({ ending: 'completed', result: 'passed' });
    expect(verdict.steps[0]?.episode?.oomKills).toBeGreaterThanOrEqual(1);
  });

  test('a container out of memory ends as agent-oom (C40)', () => {
    expect(of('eat-container')).toMatchObject({
      ending: 'agent-oom',
      result: 'failed',
      detail: 'no-final-state',
    });
  });

  test('a verifier out of memory is failed as verifier-oom, while the oracle passes in its place (C40)', () => {
    expect(of('eat-verifier')).toMatchObject({
      ending: 'completed',
      result: 'failed',
      detail: 'verifier-oom',
      reward: null,
    });
  });

  test('a sandbox that outgrew its own disk ends as agent-disk-full (C40)', () => {
    expect(of('fill-disk')).toMatchObject({ ending: 'agent-disk-full', result: 'failed' });
  });

  test('leaves nothing in the cluster (C42)', async () => {
    expect(await cluster.left()).toEqual([]);
  });
});

describe('what is done to a trial', () => {
  test.runIf(ownCluster)(
    'drained in the middle of its episode, it starts over under a new pod uid (C39)',
    async () => {
      const command = `sleep 5.${Date.now()}`;
      const { server, start } = await prepare('drained', { slow: { agent: `${command}\n${solve}` } });
      const running = cluster.start(start('drained'));
      await reach(running, 'the agent’s command', async () => (await processesRunning(command)).length > 0);
      const [pod] = (await cluster.pods()).filter(({ metadata }) => metadata.name.endsWith('-agent'));
      const node = pod?.spec.nodeName ?? '';
      const selector = '--pod-selector=app.kubernetes.io/managed-by=passband';
      try {
        // Nothing but this trial's pod: others work beside it.
        await cluster.kubectl('drain', node, '--force', '--timeout=60s', `${selector},${cluster.mark(pod)}`);
        expectCode(await running.ended, 0);
      } finally {
        await cluster.kubectl('uncordon', node);
        await server.close();
      }
      const [verdict] = await verdictsOf(cluster.store, 'drained');
      expect(verdict).toMatchObject({ generation: 2, ending: 'completed', result: 'passed' });
      const agent = verdict?.sandboxes.find(({ phase }) => phase === 'agent');
      expect(agent?.uid).not.toBe(pod?.metadata.uid);
      expect(agent?.host).not.toBe(node);
      expect(await failuresOf('drained')).toMatchObject([{ failureClass: 'SandboxLost', generation: 1 }]);
      expect(await cluster.left()).toEqual([]);
    },
  );

  test('its worker killed between a pod’s making and its record, it goes on and leaves no pod (C42)', async () => {
    const { server, start } = await prepare('orphans', { plain: { agent: solve } });
    const running = cluster.start(start('orphans'));
    const sweep = path.join(cluster.store, 'v1/sweeps/orphans');
    const made = await reach(running, 'a pod that is not recorded', async () => {
      if ((await filesUnder(sweep, 'gates')).length === 0) return null;
      if ((await filesUnder(sweep, 'trials')).some((file) => file.endsWith('provision.json')))
        throw new Error('the pod was recorded before it was seen');
      return (await cluster.pods()).find(({ metadata }) => metadata.name.endsWith('-agent')) ?? null;
    });
    process.kill(await reach(running, 'a worker', running.workerPid), 'SIGKILL');
    const ended = await running.ended;
    await server.close();
    expectCode(ended, 0);
    expect(ended.stderr).toContain('another one goes on');
    const [verdict] = await verdictsOf(cluster.store, 'orphans');
    expect(verdict).toMatchObject({ generation: 1, result: 'passed' });
    expect(verdict?.sandboxes[0]?.uid).toBe(made.metadata.uid);
    expect(await cluster.left()).toEqual([]);
  });
});
