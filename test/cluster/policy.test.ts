// The cluster itself: both nodes are ready, NetworkPolicy and storage limits hold on each, and `status` tells what answers.
import { setTimeout as sleep } from 'node:timers/promises';
import { CoreV1Api, type V1Container, type V1Pod } from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { canaryLabel } from '../../k8s/network-policy.ts';
import { clusterStatus, ownCluster, startTestCluster } from '../support/cluster.ts';
import type { TestCluster, TestNamespace } from '../support/cluster.ts';

let cluster: TestCluster;
let namespace: TestNamespace;
let core: CoreV1Api;
let nodes: string[];

beforeAll(async () => {
  cluster = await startTestCluster();
  core = cluster.client.makeApiClient(CoreV1Api);
  nodes = (await core.listNode()).items.map(({ metadata }) => metadata?.name ?? '').toSorted();
  namespace = await cluster.namespace('test-policy');
});

afterAll(async () => {
  await namespace.remove();
});

test('the nodes are ready', async () => {
  const { items } = await core.listNode();
  const ready = items.map(({ status }) => status?.conditions?.find(({ type }) => type === 'Ready')?.status);
  expect(ready).toEqual(nodes.map(() => 'True'));
  if (ownCluster) expect(nodes).toEqual(['node1', 'node2']);
});

test.skipIf(!ownCluster)('status tells what answers, part by part', async () => {
  const { up, parts } = await clusterStatus();
  expect(parts.map(({ name, answers }) => [name, answers])).toEqual(
    ['API server', 'node1', 'node2', 'registry', 'BuildKit', 'S3', 'Temporal', 'enforcement'].map((name) => [
      name,
      true,
    ]),
  );
  expect(up).toBe(true);
});

test('on every node a pod that no policy lets out reaches nothing that the canary reaches', async () => {
  await Promise.all(
    nodes.flatMap((node) => [
      core.createNamespacedPod({ namespace: namespace.name, body: shell(`open-${node}`, node, canaryLabel) }),
      core.createNamespacedPod({ namespace: namespace.name, body: shell(`closed-${node}`, node, {}) }),
    ]),
  );
  await cluster.kubectl(
    'wait',
    '-n',
    namespace.name,
    'pod',
    '--all',
    '--for=condition=Ready',
    '--timeout=60s',
  );
  const targets = [...(await clusterTargets()), ...(ownCluster ? outside : [])];
  for (const node of nodes) {
    // A new pod is open for a moment, until its node has heard of it.
    await untilClosed(`closed-${node}`, targets[0] ?? '');
    expect(await answers(`open-${node}`, targets)).toEqual(targets.map((target) => [target, 'open']));
    expect(await answers(`closed-${node}`, targets)).toEqual(targets.map((target) => [target, 'closed']));
  }
});

test('a pod that writes more than its ephemeral storage is evicted', async () => {
  const eater = shell('eater', nodes[0] ?? '', {}, { limits: { 'ephemeral-storage': '50Mi' } });
  await core.createNamespacedPod({ namespace: namespace.name, body: eater });
  await cluster.kubectl('wait', '-n', namespace.name, 'pod/eater', '--for=condition=Ready', '--timeout=60s');
  await inPod('eater', 'dd if=/dev/zero of=/big bs=1M count=100');
  await expect
    .poll(
      async () => (await core.readNamespacedPod({ namespace: namespace.name, name: 'eater' })).status?.reason,
      {
        timeout: 90_000,
        interval: 1_000,
      },
    )
    .toBe('Evicted');
});

/** What stands in for the world outside on the project's own cluster; DNS is a Service there. */
const outside = ['203.0.113.10 443', '169.254.169.254 80', '10.96.0.10 53'];

/** The API server, as a Service and at its own address, and a pod on each node that the policy lets answer. */
async function clusterTargets(): Promise<string[]> {
  const { clusterIP } =
    (await core.readNamespacedService({ namespace: 'default', name: 'kubernetes' })).spec ?? {};
  const server = new URL(cluster.client.getCurrentCluster()?.server ?? '');
  const peers = await Promise.all(
    nodes.map(async (node) => {
      const name = `open-${node}`;
      await inPod(name, 'nc -ll -p 8080 -e true >/dev/null 2>&1 &');
      const { status } = await core.readNamespacedPod({ namespace: namespace.name, name });
      return `${status?.podIP ?? ''} 8080`;
    }),
  );
  return [`${clusterIP ?? ''} 443`, `${server.hostname} ${server.port}`, ...peers];
}

const answers = (name: string, targets: readonly string[]): Promise<[string, string][]> =>
  Promise.all(targets.map(async (target): Promise<[string, string]> => [target, await reach(name, target)]));

const reach = async (name: string, target: string): Promise<string> =>
  (await inPod(name, `nc -w 2 ${target} </dev/null >/dev/null && echo open || echo closed`)).trim();

async function untilClosed(name: string, target: string): Promise<void> {
  const deadline = performance.now() + 15_000;
  while ((await reach(name, target)) !== 'closed' && performance.now() < deadline) await sleep(100);
}

const inPod = (name: string, command: string): Promise<string> =>
  cluster.kubectl('exec', '-n', namespace.name, name, '--', 'sh', '-c', command);

function shell(
  name: string,
  nodeName: string,
  labels: Readonly<Record<string, string>>,
  resources: NonNullable<V1Container['resources']> = {},
): V1Pod {
  const image = `${cluster.registry}/library/busybox:1`;
  return {
    metadata: { name, labels: { ...labels } },
    spec: {
      nodeName,
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'shell', image, command: ['sleep', '3600'], resources }],
    },
  };
}
