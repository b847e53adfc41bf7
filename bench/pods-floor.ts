// The floor of an oracle trial on Kubernetes: the same two pods by raw API calls, under the same policy, from the same
// image, with the same probe; and two bare pods without policy and probe.
import type { V1Pod } from '@kubernetes/client-node';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import type { RawPods } from './raw-pods.ts';

export interface Floor {
  readonly pods: RawPods;
  /** HOST/REPOSITORY@DIGEST. */
  readonly image: string;
  /** HOST:PORT of what a closed pod must not reach; empty: no policy and no probe. */
  readonly targets: readonly (readonly [string, number])[];
  /** Folder of a task whose work is /work/report.csv. */
  readonly task: string;
}

let made = 0;

function podOf({ image, targets }: Floor): V1Pod {
  made += 1;
  const bare = targets.length === 0;
  return {
    metadata: {
      name: `floor-${process.pid}-${made}`,
      // The policy of the namespace lets out what has the canary's role.
      labels: { 'passband.bench': 'floor', ...(bare ? { 'passband.role': 'canary' } : {}) },
    },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'main',
          image,
          command: ['/opt/passband/bin/supervisor', 'idle'],
          resources: {
            requests: { cpu: '100m', memory: '256Mi' },
            limits: { cpu: '1', memory: '512Mi' },
          },
        },
      ],
    },
  };
}

/** Tries all targets at once, again until none answers. */
async function probe({ pods, targets }: Floor, name: string): Promise<void> {
  if (targets.length === 0) return;
  const tries = targets.map(
    ([host, port]) => `(timeout 1 bash -c '</dev/tcp/${host}/${port}' && echo open) &`,
  );
  const script = `while :; do [ -z "$( { ${tries.join(' ')} wait; } 2>/dev/null)" ] && break; sleep 0.05; done`;
  await pods.execute(name, script);
}

async function archive(files: Readonly<Record<string, Uint8Array>>): Promise<string> {
  const tar = pack();
  for (const [name, content] of Object.entries(files)) tar.entry({ name, mode: 0o755 }, Buffer.from(content));
  tar.finalize();
  return (await buffer(tar)).toString('base64');
}

/** Milliseconds of one trial. */
export async function floorTrial(floor: Floor): Promise<number> {
  const { pods, task } = floor;
  const solution = await archive({
    'solution/solve.sh': await readFile(path.join(task, 'solution/solve.sh')),
  });
  const names = ['test.sh', 'expected.csv', 'access.sha256'];
  const tests = await archive(
    Object.fromEntries(
      await Promise.all(
        names.map(async (name) => [`tests/${name}`, await readFile(path.join(task, 'tests', name))] as const),
      ),
    ),
  );
  const started = performance.now();
  const agent = (await pods.run(podOf(floor))).metadata?.name ?? '';
  await probe(floor, agent);
  const solve = `echo ${solution} | base64 -d | tar x -C / && cd /work && sh /solution/solve.sh >/dev/null && base64 -w0 report.csv`;
  const report = await pods.execute(agent, solve);
  const removed = pods.delete(agent);
  const verifier = (await pods.run(podOf(floor))).metadata?.name ?? '';
  await probe(floor, verifier);
  const lay = `echo ${report.trim()} | base64 -d > /work/report.csv && echo ${tests} | base64 -d | tar x -C /`;
  const test =
    'mkdir -p /logs/verifier && cd /work && sh /tests/test.sh >/dev/null; cat /logs/verifier/reward.txt';
  const reward = await pods.execute(verifier, `${lay} && ${test}`);
  await Promise.all([removed, pods.delete(verifier)]);
  if (reward.trim() !== '1') throw new Error('the floor’s own trial does not pass');
  return performance.now() - started;
}

/** Trials a minute with so many at once. */
export async function floorRate(floor: Floor, trials: number, atOnce: number): Promise<number> {
  let left = trials;
  const started = performance.now();
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await floorTrial(floor);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return (trials * 60_000) / (performance.now() - started);
}
