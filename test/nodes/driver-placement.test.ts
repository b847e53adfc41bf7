// A pod on its way to run: adopted after a cut, waiting for room or quota, refused for what no wait mends.
import { setTimeout as sleep } from 'node:timers/promises';
import { CoreV1Api } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sweepLabels } from '../../domain/sandbox-labels.ts';
import type { SandboxDriver, SandboxSpec } from '../../sandbox/port.ts';
import { sh, specOf } from '../sandbox/conformance/harness.ts';
import { startApiProxy } from '../support/api-proxy.ts';
import { clusterHarness, type ClusterHarness } from '../support/cluster-harness.ts';
import { buildImage } from '../support/engine-harness.ts';

const namespace = 'passband-placement';

describe('the placement of a pod', () => {
  let harness: ClusterHarness;
  let core: CoreV1Api;
  beforeAll(async () => {
    harness = await clusterHarness(namespace);
    core = harness.cluster.client.makeApiClient(CoreV1Api);
    await harness.image('busybox');
  });
  afterAll(async () => {
    await harness.close();
  });

  const spec = (change: Partial<SandboxSpec> = {}) =>
    specOf(harness, 'busybox', { memoryMiB: 64, ...change });
  const pods = async () => (await core.listNamespacedPod({ namespace })).items;
  const failure = (making: Promise<unknown>): Promise<unknown> =>
    making.then(
      () => null,
      (error: unknown) => error,
    );
  const clear = (driver: SandboxDriver = harness.otherDriver) =>
    driver.removeAll({ 'passband.test': `conformance-${process.pid}` });

  it('adopts the pod that a gateway said it had not made (C43)', async () => {
    const gateway = await startApiProxy(harness.cluster.kubeconfig);
    let cut = 0;
    gateway.answer = ({ method, path }) => {
      if (method !== 'POST' || !path.endsWith('/pods') || cut > 0) return null;
      cut += 1;
      return 504;
    };
    const wanted = await spec();
    const driver = harness.withConfig({ kubeconfig: gateway.kubeconfig });
    // The gateway takes no WebSockets: the pod is made through it and spoken to beside it.
    await failure(driver.create(wanted));
    expect(cut).toBe(1);
    const [only, ...more] = await pods();
    expect(more).toEqual([]);
    const sandbox = await harness.otherDriver.create(wanted);
    expect(sandbox.identity.uid).toBe(only?.metadata?.uid);
    expect((await sh(sandbox, 'echo on')).out).toBe('on\n');
    await clear();
    await gateway.close();
  });

  it('notices that a pod runs when everything that was open has gone silent (C46)', async () => {
    const wanted = await spec();
    const making = harness.driver.create(wanted);
    while ((await pods()).length === 0) await sleep(20);
    // By now its making is answered, and it does not run yet.
    await sleep(150);
    harness.proxy.freeze();
    const sandbox = await making;
    expect(await sandbox.state()).toEqual({ kind: 'alive' });
    await clear();
  });

  it('waits for quota, and runs as soon as there is some (C45)', async () => {
    const quota = { metadata: { name: 'few' }, spec: { hard: { pods: '1' } } };
    await core.createNamespacedResourceQuota({ namespace, body: quota });
    try {
      await sleep(1_000);
      const [first, second] = [await spec(), await spec()];
      await harness.otherDriver.create(first);
      const driver = harness.withConfig({ placeSec: 3 });
      expect(await failure(driver.create(second))).toMatchObject({
        failureClass: 'PlatformUnavailable',
        message: expect.stringContaining('exceeded quota') as string,
      });
      expect(await pods()).toHaveLength(1);
      const making = harness.otherDriver.create(second);
      await sleep(500);
      await harness.otherDriver.destroy(first.name);
      expect((await sh(await making, 'echo on')).out).toBe('on\n');
    } finally {
      await clear();
      await core.deleteNamespacedResourceQuota({ namespace, name: 'few' });
    }
  });

  it('keeps its place while there is no room, and is the same pod when it is asked for again', async () => {
    const driver = harness.withConfig({ placeSec: 4, pod: { ...harness.config.pod, requestedCpus: 1 } });
    const fill = [await spec({ cpus: 1.5 }), await spec({ cpus: 1.5 })];
    for (const one of fill) await driver.create(one);
    const wanted = await spec({ cpus: 1.5 });
    expect(await failure(driver.create(wanted))).toMatchObject({
      failureClass: 'PlatformUnavailable',
      message: expect.stringContaining('Insufficient cpu') as string,
    });
    const waiting = (await pods()).find(({ metadata }) => metadata?.name === wanted.name);
    await driver.destroy(fill[0]?.name ?? '');
    const sandbox = await driver.create(wanted);
    expect(sandbox.identity.uid).toBe(waiting?.metadata?.uid);
    await clear();
  });

  it('is unschedulable where no node could ever hold it', async () => {
    const driver = harness.withConfig({ pod: { ...harness.config.pod, requestedCpus: 1 } });
    const begun = performance.now();
    expect(await failure(driver.create(await spec({ cpus: 500 })))).toMatchObject({
      failureClass: 'SandboxUnschedulable',
      message: expect.stringContaining('cpu') as string,
    });
    expect(performance.now() - begun).toBeLessThan(10_000);
    await clear();
  });

  it('is unschedulable where no node is of its kind', async () => {
    const pod = { ...harness.config.pod, nodeSelector: { 'passband.test/none': 'yes' } };
    const driver = harness.withConfig({ pod, placeSec: 5 });
    expect(await failure(driver.create(await spec()))).toMatchObject({
      failureClass: 'SandboxUnschedulable',
    });
    await clear();
  });

  it('stops waiting when it is told to', async () => {
    const pod = { ...harness.config.pod, nodeSelector: { 'passband.test/none': 'yes' } };
    const driver = harness.withConfig({ pod });
    const begun = performance.now();
    await expect(driver.create(await spec(), AbortSignal.timeout(1_000))).rejects.toThrow(/timeout|aborted/i);
    expect(performance.now() - begun).toBeLessThan(3_000);
    await clear();
  });

  it('is a fault of the task where its image names a user that it does not have', async () => {
    const dockerfile = { header: { name: 'Dockerfile' }, content: 'FROM busybox:1\nUSER ghost\n' };
    const image = await buildImage(harness.otherDriver, 'placement-ghost', [dockerfile]);
    expect(await failure(harness.otherDriver.create(await spec({ image })))).toMatchObject({
      failureClass: 'TaskInvalid',
      message: expect.stringContaining('ghost') as string,
    });
    await clear();
  });

  it('is a fault of the configuration where there is no such namespace', async () => {
    const driver = harness.withConfig({ namespace: 'passband-none' });
    expect(await failure(driver.create(await spec()))).toMatchObject({ failureClass: 'ConfigInvalid' });
  });

  it('ends by itself when what it was made for is long over', async () => {
    const sandbox = await harness.otherDriver.create(await spec({ lifetimeSec: 4 }));
    await expect
      .poll(() => sandbox.state(), { timeout: 30_000, interval: 500 })
      .toMatchObject({ kind: 'gone', cause: 'platform' });
    await clear();
  });

  it('goes with its sweep: by the owner that the sweep has, and by its labels', async () => {
    const labels = { ...sweepLabels('store-1', 'sweep-1'), 'passband.test': `conformance-${process.pid}` };
    const owners = async () =>
      (await core.listNamespacedConfigMap({ namespace })).items.filter(
        ({ metadata }) => metadata?.labels?.['app.kubernetes.io/managed-by'] === 'passband',
      );
    const [first, second] = [await spec({ labels }), await spec({ labels })];
    await harness.driver.create(first);
    await harness.otherDriver.create(second);
    const [owner, ...more] = await owners();
    expect(more).toEqual([]);
    for (const { metadata } of await pods()) {
      expect(metadata?.ownerReferences?.map(({ uid }) => uid)).toEqual([owner?.metadata?.uid]);
    }
    await core.deleteNamespacedConfigMap({ namespace, name: owner?.metadata?.name ?? '' });
    await expect.poll(pods, { timeout: 30_000, interval: 250 }).toEqual([]);
    await harness.driver.create(first);
    await harness.driver.removeAll(sweepLabels('store-1', 'sweep-1'));
    await expect.poll(async () => [...(await pods()), ...(await owners())], { timeout: 5_000 }).toEqual([]);
  });
});
