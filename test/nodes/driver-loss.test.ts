// What a cluster does to its pods and nodes, told apart: restarts, drains, power cuts. The nodes are the test's to break.
import { setTimeout as sleep } from 'node:timers/promises';
import { CoreV1Api } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { supervisorPath } from '../../sandbox/supervised/supervisor.ts';
import { Connection } from '../../sandbox/protocol/connection.ts';
import { RunResponse } from '../../sandbox/protocol/responses.ts';
import { createClient } from '../../k8s/client.ts';
import { openExec } from '../../k8s/exec.ts';
import { Pods } from '../../k8s/pods.ts';
import { Readable } from 'node:stream';
import { sh, specOf, withSandbox } from '../sandbox/conformance/harness.ts';
import { clusterHarness, type ClusterHarness } from '../support/cluster-harness.ts';
import { ownCluster } from '../support/cluster.ts';

const namespace = 'passband-loss';

describe('loss in a cluster', () => {
  let harness: ClusterHarness;
  let core: CoreV1Api;
  beforeAll(async () => {
    harness = await clusterHarness(namespace);
    core = harness.cluster.client.makeApiClient(CoreV1Api);
    await harness.image('debian');
  });
  afterAll(async () => {
    await harness.close();
  });

  it('speaks to an API server that knows v4 alone, stdin and status included (C15)', async () => {
    await withSandbox(harness, 'debian', async (_, { name }) => {
      const client = createClient(harness.config, process.env);
      const pods = new Pods(client, namespace);
      const stream = await openExec(client, pods.pathOf(name), {
        command: [supervisorPath, 'connect'],
        protocols: ['v4.channel.k8s.io'],
      });
      const connection = new Connection(stream, null);
      await connection.greet();
      const argv = ['/bin/sh', '-c', 'cat > /root/f; wc -c < /root/f; exit 4'];
      const limits = { timeoutMs: 10_000, waitMs: 10_000, background: false, outputLimitBytes: 1_000 };
      const job = { env: {}, cleanEnv: false, cwd: '/', user: null, ...limits };
      const { response } = await connection.exchange({
        request: { op: 'run', id: 'v4', argv, stream: true, ...job },
        response: RunResponse,
        body: Readable.from([Buffer.alloc(100_000)]),
      });
      expect(response).toMatchObject({ state: 'exited', exitCode: 4 });
      connection.close();
      await client.close();
    });
  });

  it('is evicted, and not its own doing, when its node is drained (C39)', async () => {
    await withSandbox(harness, 'debian', async (sandbox, { name }) => {
      const body = { metadata: { name, namespace } };
      const running = sandbox.run({ id: 'long', argv: ['/bin/sleep', '60'], timeoutMs: null });
      const lost = expect(running).rejects.toMatchObject({ state: { kind: 'gone', cause: 'platform' } });
      await core.createNamespacedPodEviction({ name, namespace, body });
      expect(await sandbox.state()).toMatchObject({ kind: 'gone', cause: 'platform', why: 'evicted' });
      await lost;
    });
  });

  it.runIf(ownCluster)('goes on with a command while the kubelet is started anew (C37)', async () => {
    await withSandbox(harness, 'debian', async (sandbox) => {
      const argv = ['/bin/sh', '-c', 'sleep 8; echo x >> /root/count; cat /root/count; exit 7'];
      const running = sandbox.run({ id: 'long', argv, timeoutMs: null });
      await sleep(1_000);
      await harness.cluster.node(sandbox.identity.host).restartKubelet();
      harness.outside.cut();
      const result = await running;
      expect(result.exitCode).toBe(7);
      expect(Buffer.from(result.stdout).toString()).toBe('x\n');
      expect(await sandbox.state()).toEqual({ kind: 'alive' });
    });
  });

  it.runIf(ownCluster)('is lost with its node, and stays lost when the node is back', async () => {
    const driver = harness.withConfig({ nodeGraceSec: 5 });
    const spec = await specOf(harness);
    const sandbox = await driver.create(spec);
    const node = harness.cluster.node(sandbox.identity.host);
    try {
      await node.kill();
      const lost = { kind: 'gone', cause: 'platform', why: 'host-lost' };
      await expect.poll(() => sandbox.state(), { timeout: 90_000, interval: 1_000 }).toMatchObject(lost);
      await expect(sh(sandbox, 'echo on')).rejects.toMatchObject({ state: lost });
      await node.back();
      await expect
        .poll(() => sandbox.state(), { timeout: 60_000, interval: 1_000 })
        .toMatchObject({ kind: 'gone', cause: 'platform' });
      await expect(driver.open(sandbox.identity)).rejects.toMatchObject({ state: { cause: 'platform' } });
    } finally {
      await node.back();
      await driver.destroy(spec.name);
    }
  });
});
