// Closed egress on a real policy: what the canary reaches and a sandbox does not, from its first moment on.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { CoreV1Api, NetworkingV1Api } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sweepLabels, workflowLabel } from '../../domain/sandbox-labels.ts';
import { UntriedProof, type EgressSurvey, type SurveyRequest } from '../../sandbox/egress.ts';
import { reap } from '../../worker/reaper.ts';
import { sh, withSandbox } from '../sandbox/conformance/harness.ts';
import { ownCluster } from '../support/cluster.ts';
import { clusterHarness, type ClusterHarness } from '../support/cluster-harness.ts';
import { everyPort, portTakers } from '../support/every-port.ts';

const namespace = 'passband-survey';
const labels = { 'passband.test': 'survey' };
const request = (change: Partial<SurveyRequest> = {}): SurveyRequest => ({
  name: 'pb-survey',
  labels,
  targets: [],
  lifetimeSec: 600,
  ...change,
});
const barrier = { settleMs: 20_000 };

/** Something of the node's own that listens on `::`, at the port of SSH. */
async function listenOnNode(node: number): Promise<ChildProcess> {
  const program = [
    'import socket',
    's = socket.create_server(("::", 22), family=socket.AF_INET6)',
    'print("listens", flush=True)',
    'while True: s.accept()[0].close()',
  ].join('\n');
  const child = spawn('nsenter', [`--net=/run/netns/passband-node${node}`, 'python3', '-c', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

describe('closed egress', () => {
  let harness: ClusterHarness;
  let core: CoreV1Api;
  let survey: EgressSurvey;
  beforeAll(async () => {
    harness = await clusterHarness(namespace);
    core = harness.cluster.client.makeApiClient(CoreV1Api);
    await harness.image('debian');
    const store = new URL(harness.cluster.s3.endpoint);
    const target = { name: 'store', kind: 'tcp', host: store.hostname, port: Number(store.port) } as const;
    survey = await harness.driver.surveyEgress(request({ targets: [target] }));
  });
  afterAll(async () => {
    await harness.close();
  });

  it('is surveyed from a pod that is let out: all that a trial must not reach answers there (C50)', () => {
    expect(survey.targets.filter(({ provable }) => !provable)).toEqual([]);
    expect(survey.targets.map(({ name }) => name)).toEqual([
      'API server',
      'Service',
      'kubelet',
      'another pod',
      'DNS',
      'metadata address',
      'outside address',
      'store',
    ]);
  });

  it('is denied to a sandbox, target by target and its own kubelet too (C49)', async () => {
    await withSandbox(harness, 'debian', async (sandbox) => {
      await sandbox.proveNetwork(survey, barrier);
      const proof = await sandbox.proveNetwork(survey, { settleMs: 0 });
      expect(proof.outcome).toBe('denied');
      expect(proof.probes).toHaveLength(survey.targets.length + 1);
      expect(proof.probes.map(({ outcome }) => outcome)).toEqual(proof.probes.map(() => 'denied'));
    });
  });

  it.runIf(ownCluster)(
    'is open where the node answers over IPv6 link-local, which the policy does not cover (C50)',
    async () => {
      const listeners = await Promise.all([1, 2].map(listenOnNode));
      try {
        await withSandbox(harness, 'debian', async (sandbox) => {
          // An address over IPv6 is there once nobody else was found to have it.
          await sleep(3_000);
          const proof = await sandbox.proveNetwork(survey, { settleMs: 0 });
          expect(proof.outcome).toBe('open');
          expect(proof.probes.filter(({ outcome }) => outcome === 'open')).toMatchObject([
            { target: 'SSH over IPv6 link-local', detail: expect.stringContaining('fe80::') as unknown },
          ]);
        });
      } finally {
        for (const listener of listeners) listener.kill();
      }
    },
  );

  it('stays denied after the barrier, however often it is tried (C47)', async () => {
    await withSandbox(harness, 'debian', async (sandbox) => {
      const proof = await sandbox.proveNetwork(survey, barrier);
      expect(proof.outcome).toBe('denied');
      const { host, port } = survey.targets.find(({ name }) => name === 'another pod') ?? {
        host: '',
        port: 0,
      };
      // One every 10 ms, each on its own: what is dropped and not refused would hold up the next.
      const one = `(timeout 0.5 bash -c "echo > /dev/tcp/${host}/${port}" 2>/dev/null && echo open) &`;
      const { out } = await sh(sandbox, `for i in $(seq 200); do ${one} sleep 0.01; done; wait; echo tried`);
      expect(out).toBe('tried\n');
    });
  });

  it('is neither denied nor open where an agent has taken every port, and denied once its processes are ended', async () => {
    await withSandbox(harness, 'debian', async (sandbox) => {
      await sandbox.proveNetwork(survey, barrier);
      await sandbox.start({ id: 'ports', argv: ['perl', '-e', everyPort] });
      const held = async () => (await sh(sandbox, 'ls /held-* 2>/dev/null | wc -l')).out.trim();
      await expect.poll(held, { timeout: 60_000, interval: 500 }).toBe(String(portTakers));
      const proving = sandbox.proveNetwork(survey, { settleMs: 0 });
      await expect(proving).rejects.toBeInstanceOf(UntriedProof);
      await expect(proving).rejects.toThrow(/cannot assign requested address/);
      await sandbox.endProcesses();
      const proof = await sandbox.proveNetwork(survey, { settleMs: 0 });
      expect(proof.outcome).toBe('denied');
      expect(proof.probes.map(({ outcome }) => outcome)).toEqual(proof.probes.map(() => 'denied'));
    });
  });

  it('resolves no name, and is told no address of the cluster by its resolver', async () => {
    await withSandbox(harness, 'debian', async (sandbox) => {
      const found = await sh(
        sandbox,
        'cat /etc/resolv.conf; getent hosts kubernetes.default.svc || echo none',
      );
      expect(found.out).toBe('nameserver 127.0.0.1\nnone\n');
    });
  });

  it('is open where the policy is not there, and says what answered', async () => {
    const networking = harness.cluster.client.makeApiClient(NetworkingV1Api);
    const name = 'passband-deny-all';
    const { spec } = await networking.readNamespacedNetworkPolicy({ name, namespace });
    await networking.deleteNamespacedNetworkPolicy({ name, namespace });
    try {
      await withSandbox(harness, 'debian', async (sandbox) => {
        await expect
          .poll(async () => (await sandbox.proveNetwork(survey, { settleMs: 0 })).outcome, {
            timeout: 20_000,
          })
          .toBe('open');
        const { probes } = await sandbox.proveNetwork(survey, { settleMs: 0 });
        const open = probes.filter(({ outcome }) => outcome === 'open').map(({ target }) => target);
        expect(open).toEqual(expect.arrayContaining(['API server', 'outside address']));
      });
    } finally {
      const body = { metadata: { name }, ...(spec === undefined ? {} : { spec }) };
      await networking.createNamespacedNetworkPolicy({ namespace, body });
    }
  });

  it('is unprovable, and no sweep goes on, where a target that must answer does not', async () => {
    const nobody = { name: 'nobody', kind: 'tcp', host: harness.cluster.host, port: 9 } as const;
    const proof = { ...harness.config.proof, targets: [nobody], required: ['API server', 'nobody'] };
    const driver = harness.withConfig({ proof });
    await expect(driver.surveyEgress(request())).rejects.toMatchObject({
      failureClass: 'EgressUnprovable',
      message: expect.stringMatching(/does not reach nobody \(.+\)/) as string,
    });
  });

  it('is surveyed once by a worker, and again where the peer is gone', async () => {
    const pods = async () =>
      (await core.listNamespacedPod({ namespace })).items
        .filter(({ metadata }) => metadata?.labels?.['passband.role'] === 'canary')
        .map(({ metadata }) => metadata?.uid)
        .toSorted();
    const driver = harness.withConfig({});
    const first = await driver.surveyEgress(request());
    const there = await pods();
    expect(await driver.surveyEgress(request())).toBe(first);
    expect(await pods()).toEqual(there);
    await harness.outside.delete('pb-survey-peer');
    const other = harness.withConfig({});
    const again = await other.surveyEgress(request());
    expect(again.targets.every(({ provable }) => provable)).toBe(true);
    expect(await pods()).toHaveLength(2);
    expect(await pods()).not.toEqual(there);
  });

  it('has an owner that the reaper finds where its sweep was ended by hand and no worker cleaned up (C42)', async () => {
    const sweep = { ...sweepLabels('store-survey', 'ended'), [workflowLabel]: 'sweep-ended' };
    await harness.driver.surveyEgress(request({ name: 'pb-ended', labels: sweep }));
    const left = async () => {
      const labelSelector = 'passband.store=store-survey';
      const [found, owners] = await Promise.all([
        core.listNamespacedPod({ namespace, labelSelector }),
        core.listNamespacedConfigMap({ namespace, labelSelector }),
      ]);
      return [found.items.length, owners.items.length];
    };
    const asked = new Set<string>();
    const look = async (state: 'running' | 'closed') =>
      await reap({
        driver: harness.otherDriver,
        storeId: () => Promise.resolve('store-survey'),
        stateOf: (workflow) => {
          asked.add(workflow);
          return Promise.resolve(state);
        },
        log: { info: () => undefined, warn: () => undefined },
        now: () => new Date(Date.now() + 10 * 60_000),
      });
    await look('running');
    expect(await left()).toEqual([2, 1]);
    await look('closed');
    await expect.poll(left, { timeout: 30_000 }).toEqual([0, 1]);
    await look('running');
    expect(await left()).toEqual([0, 1]);
    await look('closed');
    await expect.poll(left, { timeout: 30_000 }).toEqual([0, 0]);
    expect([...asked]).toEqual(['sweep-ended']);
  });

  it('leaves nothing of its survey behind', async () => {
    await harness.otherDriver.removeAll(labels);
    expect((await core.listNamespacedPod({ namespace })).items).toEqual([]);
  });
});
