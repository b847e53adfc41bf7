// Cases of a pod's life and end that need a cluster's own doing: cut answers, quota, drains, preemption, silence, memory.
import { setTimeout as sleep } from 'node:timers/promises';
import { CoreV1Api, SchedulingV1Api } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox, SandboxSpec } from '../../sandbox/port.ts';
import { sh, specOf, withSandbox } from '../sandbox/conformance/harness.ts';
import { startApiProxy } from '../support/api-proxy.ts';
import { clusterHarness, type ClusterHarness } from '../support/cluster-harness.ts';

const namespace = 'cases-loss';
/** Below that of any other pod: whoever has to go for a place, it is ours. */
const lowPriority = { name: 'passband-test-low', value: -1_000 };

describe('the life of a pod', () => {
  let harness: ClusterHarness;
  let core: CoreV1Api;
  beforeAll(async () => {
    harness = await clusterHarness(namespace);
    core = harness.cluster.client.makeApiClient(CoreV1Api);
    await harness.image('debian');
    await harness.image('busybox');
  });
  afterAll(async () => {
    await harness.close();
  });

  const spec = (change: Partial<SandboxSpec> = {}) =>
    specOf(harness, 'busybox', { memoryMiB: 64, baseline: false, ...change });
  const pods = async () => (await core.listNamespacedPod({ namespace })).items;
  const sleeping = (sandbox: Sandbox) =>
    sandbox
      .run({ id: 'long', argv: ['/bin/sh', '-c', 'sleep 120'], timeoutMs: null })
      .catch((error: unknown) => error);

  it('adopts the pod whose making was cut before it was answered (C43)', async () => {
    const gateway = await startApiProxy(harness.cluster.kubeconfig);
    let cuts = 0;
    gateway.answer = ({ method, path }) => {
      if (method !== 'POST' || !path.endsWith('/pods')) return null;
      cuts += 1;
      // The connection goes, and nothing of the answer came.
      throw new Error('cut');
    };
    const wanted = await spec();
    try {
      const driver = harness.withConfig({ kubeconfig: gateway.kubeconfig });
      await expect(driver.create(wanted, AbortSignal.timeout(10_000))).rejects.toBeDefined();
      expect(cuts).toBeGreaterThan(0);
      const [only, ...more] = await pods();
      expect(more).toEqual([]);
      const sandbox = await harness.driver.create(wanted);
      expect(sandbox.identity.uid).toBe(only?.metadata?.uid);
      expect((await sh(sandbox, 'echo on')).out).toBe('on\n');
    } finally {
      await gateway.close();
      await harness.driver.destroy(wanted.name);
    }
  });

  it('keeps within a quota of 4 pods while 12 are asked for at once: all come, none fails (C45)', async () => {
    const name = 'four';
    const body = { metadata: { name }, spec: { hard: { pods: '4' } } };
    await core.createNamespacedResourceQuota({ namespace, body });
    await expect
      .poll(
        async () => (await core.readNamespacedResourceQuota({ namespace, name })).status?.hard?.['pods'],
        { timeout: 10_000 },
      )
      .toBe('4');
    const specs = await Promise.all(Array.from({ length: 12 }, () => spec()));
    let most = 0;
    const done = new AbortController();
    const counting = (async () => {
      while (!done.signal.aborted) {
        most = Math.max(most, (await pods()).length);
        await sleep(100);
      }
    })();
    try {
      const ran = await Promise.all(
        specs.map(async (one) => {
          const sandbox = await harness.driver.create(one);
          const { out } = await sh(sandbox, 'echo on');
          await harness.driver.destroy(one.name);
          return out;
        }),
      );
      expect(ran).toEqual(specs.map(() => 'on\n'));
    } finally {
      done.abort();
      await counting;
      await core.deleteNamespacedResourceQuota({ namespace, name });
    }
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(4);
  });

  it('notices the end of pods, and goes on with a command, when all that was open has gone silent (C46)', async () => {
    const specs = [await spec(), await spec(), await spec()] as const;
    const [deleted, killed, lives] = await Promise.all([
      harness.driver.create(specs[0]),
      harness.driver.create(specs[1]),
      harness.driver.create(specs[2]),
    ]);
    const count = ['/bin/sh', '-c', 'sleep 3; echo x >> /count; cat /count; exit 5'];
    const lost = [sleeping(deleted), sleeping(killed)];
    const once = lives.run({ id: 'once', argv: count, timeoutMs: null });
    // Connections that lie ready have gone silent with the others, and are no way on.
    await Promise.all(Array.from({ length: 5 }, () => sh(lives, 'sleep 0.2')));
    harness.proxy.freeze();
    const begun = performance.now();
    await harness.outside.delete(specs[0].name);
    await harness.outside.kill(specs[1].name);
    const gone = { name: 'SandboxGone', state: { kind: 'gone', cause: 'platform' } };
    expect(await Promise.all(lost)).toMatchObject([gone, gone]);
    const { exitCode, stdout } = await once;
    expect({ exitCode, out: Buffer.from(stdout).toString() }).toEqual({ exitCode: 5, out: 'x\n' });
    expect(performance.now() - begun).toBeLessThan(50_000);
    for (const { name } of specs) await harness.driver.destroy(name);
  });

  it('is evicted by kubectl drain, and starts again under a new uid on another node (C39)', async () => {
    const wanted = await spec();
    const first = await harness.driver.create(wanted);
    const node = first.identity.host;
    try {
      const running = sleeping(first);
      const ours = [
        `--pod-selector=app.kubernetes.io/managed-by=passband,passband.test=conformance-${process.pid}`,
      ];
      await harness.cluster.kubectl('drain', node, '--force', '--timeout=60s', ...ours);
      const evicted = { kind: 'gone', cause: 'platform' };
      expect(await running).toMatchObject({ name: 'SandboxGone', state: evicted });
      expect(await first.state()).toMatchObject(evicted);
      const second = await harness.driver.create(wanted);
      expect(second.identity.uid).not.toBe(first.identity.uid);
      expect(second.identity.host).not.toBe(node);
      await expect(harness.otherDriver.open(first.identity)).rejects.toMatchObject({
        state: { kind: 'replaced' },
      });
    } finally {
      await harness.cluster.kubectl('uncordon', node);
      await harness.driver.destroy(wanted.name);
    }
  });

  it('is lost to the platform where a pod of higher priority takes its place', async () => {
    const scheduling = harness.cluster.client.makeApiClient(SchedulingV1Api);
    const { name, value } = lowPriority;
    await scheduling.createPriorityClass({ body: { metadata: { name }, value } });
    try {
      const [node] = (await core.listNode()).items;
      const nodeSelector = { 'kubernetes.io/hostname': node?.metadata?.name ?? '' };
      const cpus = 0.8 * Number(node?.status?.allocatable?.['cpu']);
      const pod = { ...harness.config.pod, requestedCpus: 1, nodeSelector };
      const low = harness.withConfig({ pod: { ...pod, priorityClassName: name } });
      const high = harness.withConfig({ pod });
      const victim = await low.create(await spec({ cpus }));
      const running = sleeping(victim);
      const winner = await high.create(await spec({ cpus }));
      const preempted = { kind: 'gone', cause: 'platform' };
      expect(await running).toMatchObject({ name: 'SandboxGone', state: preempted });
      expect(await victim.state()).toMatchObject(preempted);
      expect(await winner.state()).toEqual({ kind: 'alive' });
      for (const { identity } of [victim, winner]) await harness.driver.destroy(identity.name);
    } finally {
      await scheduling.deletePriorityClass({ name });
    }
  });

  it('is gone by itself, and for its memory, when the kernel takes PID 1 of it (C40)', async () => {
    const fill = 'i=0; while :; do i=$((i+1)); head -c 8M /dev/zero > /dev/shm/$i || break; done';
    await withSandbox(
      harness,
      'debian',
      async (sandbox) => {
        const gone = { kind: 'gone', cause: 'self', why: 'oom' };
        // A file system in memory belongs to no process: with all of them ended it is still there.
        await expect(sh(sandbox, fill)).rejects.toMatchObject({ state: gone });
        expect(await sandbox.state()).toMatchObject(gone);
      },
      { memoryMiB: 48 },
    );
  });
});
