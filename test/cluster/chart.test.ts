// The chart, installed: the worker in a pod under its own rights and no more, and nothing of it left afterwards.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { createKubernetesDriver } from '../../k8s/driver.ts';
import { networkPolicies } from '../../k8s/network-policy.ts';
import { permissions } from '../../k8s/permissions.ts';
import { startTestCluster, type TestCluster } from '../support/cluster.ts';
import { helm, type Values } from '../support/helm.ts';
import { installChart, type InstalledChart } from '../support/installed-chart.ts';

const release = 'chart-test';
const account = `system:serviceaccount:${release}:${release}`;
const buildTimeoutMs = 400_000;

let cluster: TestCluster;
let chart: InstalledChart;
const trials = `${release}-trials`;

beforeAll(async () => {
  cluster = await startTestCluster();
  chart = await installChart(cluster, release);
}, buildTimeoutMs);
afterAll(() => chart.remove());

const said = (...args: string[]): Promise<string> => chart.said(...args);

/** The rights of the worker's account in a namespace, without those that everybody has over themselves. */
async function rightsIn(namespace: string): Promise<readonly string[]> {
  const listed = await cluster.kubectl(
    ...['auth', 'can-i', '--list', '--no-headers', '--namespace', namespace, '--as', account],
  );
  return listed
    .split('\n')
    .map((line) => /^(\S+)\s+\[([^\]]*)\]\s+\[([^\]]*)\]\s+\[([^\]]*)\]$/.exec(line.trimEnd()))
    .flatMap((match) => {
      const [, resource = '', urls = '', , verbs = ''] = match ?? [];
      const ofAll = resource.startsWith('selfsubject') || urls !== '' || resource === '';
      return ofAll ? [] : verbs.split(' ').map((verb) => `${resource} ${verb}`);
    })
    .toSorted();
}
const needed = (scopes: readonly string[]): readonly string[] =>
  permissions
    .filter(({ scope }) => scopes.includes(scope))
    .flatMap(({ resource, group, verbs }) =>
      verbs.map((verb) => `${resource}${group === '' ? '' : `.${group}`} ${verb}`),
    )
    .toSorted();

describe('the worker', () => {
  test('runs from the image, finds store, cluster and Temporal, and listens', async () => {
    const deadline = performance.now() + 180_000;
    while (!(await chart.log()).includes('worker listens')) {
      if (performance.now() > deadline) {
        expect.fail(
          `${await chart.log()}\n${await chart.log('--previous')}\n${await said('get', 'events', '--namespace', release)}`,
        );
      }
      await sleep(500);
    }
    expect(await chart.log()).toContain('"driver":"kubernetes"');
  });

  test('is nobody, and writes nowhere but to /tmp', async () => {
    const inside = (script: string): Promise<string> =>
      said('exec', '--namespace', release, `deployment/${release}`, '--', 'sh', '-c', script);
    expect((await inside('id -u')).trim()).toBe('10001');
    expect(await inside('touch /app/x')).toMatch(/read-only file system/i);
    expect((await inside('touch /tmp/x && grep CapEff /proc/1/status')).trim()).toMatch(/CapEff:\s+0+$/);
  });
});

describe('its rights', () => {
  test('are those of k8s/permissions.ts in the namespace of trials, and no other', async () => {
    expect(await rightsIn(trials)).toEqual(needed(['trials', 'cluster']));
  });

  test.each([release, 'default', 'kube-system'])(
    'end at what belongs to no namespace in %s',
    async (namespace) => {
      expect(await rightsIn(namespace)).toEqual(needed(['cluster']));
    },
  );

  test.each([
    ['get', 'secrets', trials],
    ['list', 'secrets', release],
    ['create', 'pods', release],
    ['create', 'pods/exec', 'kube-system'],
    ['delete', 'networkpolicies', trials],
    ['patch', 'namespaces', trials],
  ])('do not let it %s %s in %s', async (verb, resource, namespace) => {
    expect(
      (await said('auth', 'can-i', verb, resource, '--namespace', namespace, '--as', account)).trim(),
    ).toMatch(/^no/);
  });

  test('satisfy the check that a worker makes at start; elsewhere it names each right that is missing', async () => {
    const token = (await cluster.kubectl('create', 'token', release, '--namespace', release)).trim();
    const folder = await mkdtemp(path.join(tmpdir(), 'passband-chart-'));
    const kubeconfig = path.join(folder, 'kubeconfig');
    await writeFile(
      kubeconfig,
      stringify({
        ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
        clusters: [{ name: 'c', cluster: clusterEntry() }],
        users: [{ name: 'u', user: { token } }],
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      }),
    );
    const check = async (namespace: string): Promise<unknown> => {
      const driver = createKubernetesDriver({ ...cluster.config(namespace), kubeconfig }, process.env);
      return driver.check().finally(() => driver.close());
    };
    try {
      await expect(check(trials)).resolves.toMatchObject({
        version: expect.stringContaining('Kubernetes') as string,
      });
      await expect(check('default')).rejects.toMatchObject({
        failureClass: 'Forbidden',
        message: expect.stringContaining('pods/exec create in namespace default') as string,
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

function clusterEntry(): Readonly<Record<string, unknown>> {
  const current = cluster.client.getCurrentCluster() ?? expect.fail('no cluster');
  return {
    server: current.server,
    'certificate-authority': current.caFile,
    'certificate-authority-data': current.caData,
  };
}

describe('the namespace of trials', () => {
  const asPod = (spec: Values): string => JSON.stringify({ apiVersion: 'v1', spec });

  test('refuses what Pod Security baseline refuses, and takes a root of its own', async () => {
    const attempt = (spec: Values): Promise<string> =>
      said(
        ...['run', 'probe', '--namespace', trials, '--image=busybox', '--dry-run=server'],
        ...[`--overrides=${asPod(spec)}`],
      );
    expect(await attempt({ hostNetwork: true })).toContain('violates PodSecurity "baseline');
    expect(await attempt({})).toContain('pod/probe created');
  });

  test('C51: has the policies from the start, before there is a sweep', async () => {
    const ListSchema = z.object({
      items: z.array(z.object({ metadata: z.object({ name: z.string() }), spec: z.unknown() })),
    });
    const listed = await cluster.kubectl('get', 'networkpolicies', '--namespace', trials, '--output=json');
    const there = ListSchema.parse(JSON.parse(listed)).items.map(({ metadata, spec }) => ({
      ...metadata,
      spec,
    }));
    for (const { name, spec } of networkPolicies()) {
      expect(there.find((policy) => policy.name === name)?.spec).toEqual(spec);
    }
    expect(there).toHaveLength(networkPolicies().length);
  });

  test('has the quota that values ask for', async () => {
    const hard = await cluster.kubectl(
      ...['get', 'resourcequota', release, '--namespace', trials, '--output=jsonpath={.spec.hard.pods}'],
    );
    expect(hard).toBe('20');
  });
});

test('an image without a digest is warned of, one with a digest is not', async () => {
  expect(chart.notes).not.toContain('WARNING');
  const image = { repository: `${cluster.registry}/passband/worker`, tag: 'chart-test' };
  const dry = await helm(
    [
      ...['install', 'other', 'helm/passband', '--namespace', release, '--kubeconfig', cluster.kubeconfig],
      ...['--dry-run=server'],
    ],
    { ...chart.values, image, trials: { namespace: 'chart-test-other' } },
  );
  expect(dry).toMatch(/WARNING: image\.digest is not set/);
});

test('C42: uninstalled, it leaves nothing', async () => {
  await chart.uninstall();
  const left = await said(
    ...['get', 'namespaces,clusterroles,clusterrolebindings', '--output=name'],
    ...[`--selector=app.kubernetes.io/instance=${release}`],
  );
  expect(left.trim()).toBe('');
  const inside = await said(
    ...[
      'get',
      'pods,deployments,serviceaccounts,configmaps,secrets',
      '--namespace',
      release,
      '--output=name',
    ],
    ...[`--selector=app.kubernetes.io/instance=${release}`],
  );
  const deadline = performance.now() + 30_000;
  while ((await said('get', 'pods', '--namespace', release, '--output=name')).trim() !== '') {
    if (performance.now() > deadline) expect.fail("the worker's pod is not gone");
    await sleep(250);
  }
  expect(inside.split('\n').filter((name) => name !== '' && !name.startsWith('pod/'))).toEqual([]);
});
