// Cases of a node and of what it pulls: its cable out for a moment and for long, and a registry that is busy when it asks.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CoreV1Api } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../sandbox/port.ts';
import { sh, specOf } from '../sandbox/conformance/harness.ts';
import { startBusyRegistry } from '../support/busy-registry.ts';
import { clusterHarness, type ClusterHarness } from '../support/cluster-harness.ts';
import { clusterStatus, ownCluster } from '../support/cluster.ts';
import { buildImage } from '../support/engine-harness.ts';

const namespace = 'cases-nodes';

describe.runIf(ownCluster)('a node', () => {
  let harness: ClusterHarness;
  beforeAll(async () => {
    harness = await clusterHarness(namespace);
    await harness.image('busybox');
  });
  afterAll(async () => {
    await harness.close();
  });

  /** Pods of this driver are on node2, the one that is broken here. */
  const onNode2 = (more: { nodeGraceSec?: number } = {}) =>
    harness.withConfig({
      ...{ pod: { ...harness.config.pod, nodeSelector: { 'kubernetes.io/hostname': 'node2' } } },
      ...more,
    });
  const counting = (sandbox: Sandbox, seconds: number) =>
    sandbox.run({
      ...{ id: 'once', timeoutMs: null },
      argv: ['/bin/sh', '-c', `sleep ${seconds}; echo x >> /count; cat /count; exit 6`],
    });

  it('that is cut off for a moment loses nothing: the command goes on, and runs once (C37)', async () => {
    const driver = onNode2();
    const spec = await specOf(harness, 'busybox', { baseline: false });
    const sandbox = await driver.create(spec);
    const node = harness.cluster.node(sandbox.identity.host);
    try {
      const running = counting(sandbox, 4);
      await sleep(500);
      await node.cut();
      await sleep(2_000);
      await node.join();
      const { exitCode, stdout } = await running;
      expect({ exitCode, out: Buffer.from(stdout).toString() }).toEqual({ exitCode: 6, out: 'x\n' });
      expect(await sandbox.state()).toEqual({ kind: 'alive' });
    } finally {
      await node.join();
      await driver.destroy(spec.name);
    }
  });

  it('that stays cut off is given up with its pods, and they are removed when it is back', async () => {
    const driver = onNode2({ nodeGraceSec: 3 });
    const spec = await specOf(harness, 'busybox', { baseline: false });
    const sandbox = await driver.create(spec);
    const node = harness.cluster.node(sandbox.identity.host);
    try {
      const running = counting(sandbox, 300).catch((error: unknown) => error);
      await node.cut();
      const lost = { kind: 'gone', cause: 'platform', why: 'host-lost' };
      await expect.poll(() => sandbox.state(), { timeout: 90_000, interval: 500 }).toMatchObject(lost);
      expect(await running).toMatchObject({ name: 'SandboxGone', state: lost });
      // What is told to go while its node is away goes as well.
      await driver.destroy(spec.name);
      await node.join();
      await expect
        .poll(() => sandbox.state(), { timeout: 30_000 })
        .toMatchObject({ kind: 'gone', cause: 'platform', why: 'deleted' });
    } finally {
      await node.join();
      await driver.destroy(spec.name);
    }
  });

  it('that finds the registry busy waits, and pulls when it is not (C35)', async () => {
    const { registry, host } = harness.cluster;
    const unique = `FROM busybox:1\nLABEL unique="${Date.now()}"\nRUN echo ${Date.now()} > /unique\n`;
    const built = await buildImage(harness.otherDriver, `busy-${Date.now()}`, [
      { header: { name: 'Dockerfile' }, content: unique },
    ]);
    const busy = await startBusyRegistry(registry, host);
    const { run } = await clusterStatus();
    const told = path.join(run, 'node2/hosts', busy.address);
    await mkdir(told, { recursive: true });
    const plain = `server = "http://${busy.address}"\n[host."http://${busy.address}"]\n  capabilities = ["pull", "resolve"]\n`;
    await writeFile(path.join(told, 'hosts.toml'), plain);
    const pod = { ...harness.config.pod, nodeSelector: { 'kubernetes.io/hostname': 'node2' } };
    const given = { ...harness.config.registry, repository: `${busy.address}/passband` };
    const driver = harness.withConfig({ pod, registry: given });
    // By another way to the same registry.
    const image = { ...built, reference: built.reference.replace(registry, busy.address) };
    const spec = await specOf(harness, 'busybox', { image, baseline: false });
    const core = harness.cluster.client.makeApiClient(CoreV1Api);
    const pods = async () => (await core.listNamespacedPod({ namespace })).items;
    const waits = async () => {
      const [only] = await pods();
      return only?.status?.containerStatuses?.[0]?.state?.waiting?.reason ?? '';
    };
    try {
      // Its image is known to us before the node asks for it.
      await harness.cluster.kubectl('cordon', 'node2');
      const making = driver.create(spec);
      await expect.poll(pods, { timeout: 20_000, interval: 50 }).toHaveLength(1);
      // A runtime asks six times at each of two places before it says so.
      busy.busyFor(15);
      await harness.cluster.kubectl('uncordon', 'node2');
      await expect
        .poll(waits, { timeout: 20_000, interval: 50 })
        .toMatch(/^(ErrImagePull|ImagePullBackOff)$/);
      const sandbox = await making;
      expect((await sh(sandbox, 'cat /unique')).exitCode).toBe(0);
    } finally {
      await harness.cluster.kubectl('uncordon', 'node2');
      await driver.destroy(spec.name);
      await busy.close();
      await rm(told, { recursive: true });
    }
  });
});
