// 300 MB into a pod and out of it: the driver's own transfer, hashed on both ends, over a raw tar through kubectl exec.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import type { KubernetesConfig } from '../k8s/config.ts';
import { createKubernetesDriver } from '../k8s/driver.ts';
import type { TestCluster } from '../test/support/cluster.ts';
import { median } from './median.ts';

const bytes = 300 * 1024 ** 2;

/** Milliseconds of each, and floor over product: the share of the raw transfer's speed. */
export async function throughExec(
  cluster: TestCluster,
  config: KubernetesConfig,
  rounds: number,
): Promise<Record<string, number>> {
  const driver = createKubernetesDriver(config, process.env);
  const name = `pb-bench-files-${process.pid}`;
  const content = pack();
  content.entry({ name: 'big', size: bytes }, randomBytes(bytes));
  content.finalize();
  const tar = await buffer(content);
  const image = await driver.images.ensure({ kind: 'prebuilt', reference: 'debian:12' });
  const sandbox = await driver.create({
    ...{ name, image, labels: {}, cpus: 2, memoryMiB: 2_048, diskMiB: 8_192, pids: 512 },
    ...{ env: {}, workdir: null, network: 'deny' as const, lifetimeSec: 3_600, baseline: false },
  });
  const where = { cluster, namespace: config.namespace, pod: name };
  const times = {
    files: [] as number[],
    filesFloor: [] as number[],
    out: [] as number[],
    outFloor: [] as number[],
  };
  try {
    for (let round = 0; round < rounds; round += 1) {
      let begun = performance.now();
      const put = await sandbox.putFiles(() => Readable.from(chunksOf(tar)), {
        ...{ dir: '/srv/ours', replace: true, owner: null },
      });
      if (put.bytes !== tar.length) throw new Error(`${put.bytes} bytes arrived of ${tar.length}`);
      times.files.push(performance.now() - begun);
      await sandbox.run({ id: `mkdir-${round}`, argv: ['mkdir', '-p', '/srv/raw'], timeoutMs: 10_000 });
      begun = performance.now();
      await raw(where, ['x', '-C', '/srv/raw'], tar);
      times.filesFloor.push(performance.now() - begun);
      begun = performance.now();
      const got = await sandbox.getFiles({ paths: ['/srv/ours/big'], maxBytes: 2 * bytes }, drain);
      if (got.bytes < bytes) throw new Error(`${got.bytes} bytes came of ${bytes}`);
      times.out.push(performance.now() - begun);
      begun = performance.now();
      await raw(where, ['c', '-C', '/srv/ours', 'big']);
      times.outFloor.push(performance.now() - begun);
    }
  } finally {
    await sandbox.close();
    await driver.destroy(name);
    await driver.close();
  }
  const [filesMs, filesFloorMs] = [median(times.files), median(times.filesFloor)];
  const [filesOutMs, filesOutFloorMs] = [median(times.out), median(times.outFloor)];
  return {
    ...{ filesMs, filesFloorMs, filesRatio: filesFloorMs / filesMs },
    ...{ filesOutMs, filesOutFloorMs, filesOutRatio: filesOutFloorMs / filesOutMs },
  };
}

interface Where {
  readonly cluster: TestCluster;
  readonly namespace: string;
  readonly pod: string;
}

/** tar in the pod, its input from us or its output to us. */
async function raw(
  { cluster, namespace, pod }: Where,
  words: readonly string[],
  tar?: Buffer,
): Promise<void> {
  const kubeconfig = ['--kubeconfig', cluster.kubeconfig, '-n', namespace];
  const args = [...kubeconfig, 'exec', '-i', pod, '-c', 'main', '--', 'tar', ...words];
  const child = spawn(cluster.programs.kubectl, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdout.resume();
  child.stdin.end(tar);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`kubectl exec ended with ${String(code)}`);
}

async function drain(tar: Readable): Promise<void> {
  tar.resume();
  await once(tar, 'end');
}

function* chunksOf(tar: Buffer): Generator<Buffer> {
  for (let at = 0; at < tar.length; at += 65_536) yield tar.subarray(at, at + 65_536);
}
