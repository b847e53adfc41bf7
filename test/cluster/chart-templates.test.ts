// Each template of the chart, as helm renders it; and the values that it refuses.
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { KubernetesConfigSchema } from '../../k8s/config.ts';
import { networkPolicies } from '../../k8s/network-policy.ts';
import { permissions, rbacRules } from '../../k8s/permissions.ts';
import { readWorkerConfig } from '../../worker/config.ts';
import { leastValues, renderChart, type Manifest, type Values } from '../support/helm.ts';

const { image, temporal, store, kubernetes } = leastValues;
const digest = `sha256:${'a'.repeat(64)}`;

/** The only manifest of a kind. */
async function one(kind: string, values: Values = {}): Promise<Manifest> {
  const all = (await renderChart({ ...leastValues, ...values })).filter((manifest) => manifest.kind === kind);
  expect(all, kind).toHaveLength(1);
  return all[0] ?? expect.fail(`no ${kind}`);
}

const ContainerSchema = z.looseObject({
  image: z.string(),
  args: z.array(z.string()),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })),
  envFrom: z.unknown().optional(),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
  securityContext: z.unknown(),
  resources: z.unknown(),
});
const PodSchema = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      metadata: z.looseObject({
        labels: z.record(z.string(), z.string()),
        annotations: z.record(z.string(), z.string()).optional(),
      }),
      spec: z.looseObject({
        automountServiceAccountToken: z.boolean(),
        terminationGracePeriodSeconds: z.number().optional(),
        imagePullSecrets: z.unknown().optional(),
        securityContext: z.unknown(),
        containers: z.array(ContainerSchema).length(1),
        volumes: z.array(z.looseObject({ name: z.string() })),
      }),
    }),
  }),
});

async function podOf(kind: 'Deployment' | 'Job', values: Values = {}) {
  const { template } = PodSchema.parse(await one(kind, values)).spec;
  return { ...template, container: ContainerSchema.parse(template.spec.containers[0]) };
}

const variables = (env: z.infer<typeof ContainerSchema>['env']): Record<string, string> =>
  Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));

const refusal = (values: Values): Promise<string> =>
  renderChart({ ...leastValues, ...values }).then(
    () => 'rendered',
    (error: unknown) => String(error),
  );

describe('namespace.yaml', () => {
  test('makes the namespace of trials, where Pod Security enforces baseline and warns of less than restricted', async () => {
    const { metadata } = await one('Namespace', { trials: { namespace: 'cells', labels: { team: 'a' } } });
    expect(metadata.name).toBe('cells');
    expect(metadata.labels).toMatchObject({
      team: 'a',
      'pod-security.kubernetes.io/enforce': 'baseline',
      'pod-security.kubernetes.io/warn': 'restricted',
      'pod-security.kubernetes.io/audit': 'restricted',
    });
  });

  test.each(['pod-security.kubernetes.io/enforce', 'app.kubernetes.io/managed-by'])(
    'takes no label of its own from values: %s',
    async (label) => {
      expect(await refusal({ trials: { labels: { [label]: 'privileged' } } })).toContain(label);
    },
  );
});

describe('networkpolicy.yaml', () => {
  test('makes the policies of k8s/network-policy.ts in the namespace of trials', async () => {
    const all = (await renderChart(leastValues)).filter(({ kind }) => kind === 'NetworkPolicy');
    const made = all.map(({ metadata, spec }) => ({
      name: metadata.name,
      namespace: metadata.namespace,
      spec,
    }));
    const wanted = networkPolicies().map((policy) => ({ ...policy, namespace: 'passband-trials' }));
    expect(made).toHaveLength(wanted.length);
    expect(made).toEqual(expect.arrayContaining(wanted));
  });

  test('a chart without its policies or its rules is refused', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'passband-chart-'));
    try {
      await cp('helm/passband', folder, { recursive: true });
      for (const name of ['network-policies', 'role-rules', 'cluster-role-rules']) {
        const file = path.join(folder, 'files', `${name}.yaml`);
        const whole = await readFile(file);
        await writeFile(file, '');
        await expect(renderChart(leastValues, { chart: folder }), name).rejects.toThrow(`files/${name}.yaml`);
        await writeFile(file, whole);
      }
      await expect(renderChart(leastValues, { chart: folder })).resolves.not.toHaveLength(0);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('role.yaml, clusterrole.yaml and their bindings', () => {
  test.each([
    ['Role', 'trials', 'passband-trials'],
    ['ClusterRole', 'cluster', undefined],
  ] as const)(
    'the %s grants the scope %s of k8s/permissions.ts, and nothing else',
    async (kind, scope, namespace) => {
      const role = await one(kind);
      expect(role.metadata.namespace).toBe(namespace);
      expect(role['rules']).toEqual(
        rbacRules(scope).map(({ apiGroups, resources, verbs }) => ({ apiGroups, resources, verbs })),
      );
      expect(permissions.some((rule) => rule.scope === scope)).toBe(true);
    },
  );

  test.each(['Role', 'ClusterRole'])('binds the %s to the service account alone', async (kind) => {
    const [role, binding, account] = [
      await one(kind),
      await one(`${kind}Binding`),
      await one('ServiceAccount'),
    ];
    expect(binding['roleRef']).toMatchObject({ kind, name: role.metadata.name });
    expect(binding.metadata.namespace).toBe(role.metadata.namespace);
    expect(binding['subjects']).toEqual([
      { kind: 'ServiceAccount', name: account.metadata.name, namespace: 'passband' },
    ]);
  });

  test('two releases of one name in two namespaces share nothing that belongs to the cluster', async () => {
    const names = await Promise.all(
      ['one', 'two'].map(async (namespace) =>
        (await renderChart({ ...leastValues, trials: { namespace: `${namespace}-trials` } }, { namespace }))
          .filter(({ metadata }) => metadata.namespace === undefined)
          .map(({ kind, metadata }) => `${kind}/${metadata.name}`),
      ),
    );
    expect(new Set(names.flat()).size).toBe(names.flat().length);
  });
});

describe('serviceaccount.yaml', () => {
  test('gives no pod a token that does not ask for it, and carries the role that the cloud knows', async () => {
    const annotations = { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::123456789012:role/passband-worker' };
    const account = await one('ServiceAccount', { serviceAccount: { annotations } });
    expect(account['automountServiceAccountToken']).toBe(false);
    expect(account.metadata.annotations).toEqual(annotations);
  });
});

describe('configmap.yaml', () => {
  const DataSchema = z.object({ 'kubernetes.yaml': z.string() });
  const configOf = async (values: Values) =>
    KubernetesConfigSchema.parse(
      parse(DataSchema.parse((await one('ConfigMap', values))['data'])['kubernetes.yaml']),
    );

  test('holds a configuration that the driver takes, with the namespace of trials', async () => {
    const config = await configOf({ trials: { namespace: 'cells' } });
    expect(config.namespace).toBe('cells');
    expect(config.registry.repository).toBe(kubernetes.registry.repository);
    expect(config.kubeconfig).toBeUndefined();
  });

  test('passes on what values say of pods, proof and BuildKit', async () => {
    const said = {
      buildkit: { address: 'tcp://buildkit:1234' },
      pod: { runtimeClassName: 'gvisor', nodeSelector: { pool: 'trials' }, requestedCpus: 0.5 },
      proof: { required: ['API server'] },
      placeSec: 60,
    };
    const config = await configOf({ kubernetes: { ...kubernetes, ...said } });
    expect(config).toMatchObject(said);
  });

  test("names the registry's credentials where a Secret holds them, at the place where they are mounted", async () => {
    const values = { registrySecret: 'registry' };
    const { dockerConfig } = (await configOf(values)).registry;
    const { container } = await podOf('Deployment', values);
    const mounted = container.volumeMounts.find(({ name }) => name === 'registry');
    expect(dockerConfig).toBe(`${mounted?.mountPath ?? ''}/config.json`);
  });
});

describe('resourcequota.yaml and limitrange.yaml', () => {
  test('are there where values say so, in the namespace of trials', async () => {
    const all = await renderChart(leastValues);
    expect(all.filter(({ kind }) => ['ResourceQuota', 'LimitRange'].includes(kind))).toEqual([]);
    const trials = {
      quota: { pods: '40', 'limits.memory': '80Gi' },
      limitRange: [{ type: 'Pod', max: { cpu: '8' } }],
    };
    const quota = await one('ResourceQuota', { trials });
    expect([quota.metadata.namespace, quota['spec']]).toEqual(['passband-trials', { hard: trials.quota }]);
    const range = await one('LimitRange', { trials });
    expect([range.metadata.namespace, range['spec']]).toEqual([
      'passband-trials',
      { limits: trials.limitRange },
    ]);
  });
});

const restricted = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

describe('deployment.yaml', () => {
  test('runs the worker with variables that it takes', async () => {
    const { container } = await podOf('Deployment', {
      worker: { concurrency: 3, drainSec: 20 },
      temporal: { ...temporal, namespace: 'grading' },
    });
    expect(container.args).toEqual(['worker']);
    expect(readWorkerConfig(variables(container.env))).toMatchObject({
      temporalAddress: temporal.address,
      namespace: 'grading',
      storeUrl: store.url,
      sandbox: 'kubernetes',
      kubernetes: '/etc/passband/kubernetes.yaml',
      concurrency: 3,
      drainMs: 20_000,
    });
    expect(container.volumeMounts).toContainEqual({
      name: 'config',
      mountPath: '/etc/passband',
      readOnly: true,
    });
  });

  test('conforms to Pod Security restricted, with a root file system that is not written to', async () => {
    const { spec, container } = await podOf('Deployment');
    expect(spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container.securityContext).toEqual(restricted);
    expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toContain('/tmp');
  });

  test('gives a pod that ends more time than the worker takes to drain', async () => {
    const { spec } = await podOf('Deployment', { worker: { drainSec: 100 } });
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(200);
  });

  test('takes the image by its digest, and credentials and API keys from Secrets by name', async () => {
    const { container, spec } = await podOf('Deployment', {
      image: { ...image, digest, pullSecrets: ['pull'] },
      store: { ...store, credentialsSecret: 's3' },
      worker: { envFromSecrets: ['keys'] },
    });
    expect(container.image).toBe(`${image.repository}:1@${digest}`);
    expect(spec.imagePullSecrets).toEqual([{ name: 'pull' }]);
    expect(container.env).toContainEqual({
      name: 'AWS_SECRET_ACCESS_KEY',
      valueFrom: { secretKeyRef: { name: 's3', key: 'AWS_SECRET_ACCESS_KEY' } },
    });
    expect(container.envFrom).toEqual([{ secretRef: { name: 'keys' } }]);
  });

  test('starts a new pod where the configuration is another', async () => {
    const sums = await Promise.all(
      [10, 20, 20].map(async (placeSec) => {
        const { metadata } = await podOf('Deployment', { kubernetes: { ...kubernetes, placeSec } });
        return metadata.annotations?.['checksum/config'];
      }),
    );
    expect(new Set(sums).size).toBe(2);
  });
});

describe('poddisruptionbudget.yaml', () => {
  test('is there where values say so, and selects the worker', async () => {
    const { metadata } = await podOf('Deployment');
    const budget = await one('PodDisruptionBudget', { worker: { podDisruptionBudget: { enabled: true } } });
    const { spec } = z
      .looseObject({
        spec: z.object({
          maxUnavailable: z.number(),
          selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
        }),
      })
      .parse(budget);
    expect(metadata.labels).toMatchObject(spec.selector.matchLabels);
    expect((await renderChart(leastValues)).map(({ kind }) => kind)).not.toContain('PodDisruptionBudget');
  });
});

describe('job.yaml', () => {
  const imagesBuild = { enabled: true, tasksClaim: 'tasks', tasksPath: 'v1', args: ['--concurrency', '2'] };
  const values = { imagesBuild, kubernetes: { ...kubernetes, buildkit: { address: 'tcp://buildkit:1234' } } };

  test('builds the images of a claim of tasks, without account and store, as confined as the worker', async () => {
    const { spec, container } = await podOf('Job', values);
    expect(container.args).toEqual(['images', 'build', '/tasks', '--concurrency', '2']);
    expect(container.volumeMounts).toContainEqual(
      expect.objectContaining({ mountPath: '/tasks', subPath: 'v1', readOnly: true }),
    );
    expect(container.securityContext).toEqual(restricted);
    expect(spec.automountServiceAccountToken).toBe(false);
    expect(variables(container.env)).toEqual({ PASSBAND_KUBERNETES: '/etc/passband/kubernetes.yaml' });
  });

  test('is not there unless it is asked for', async () => {
    expect((await renderChart(leastValues)).map(({ kind }) => kind)).not.toContain('Job');
  });
});

describe('values that are refused, each in a line', () => {
  test.each<[string, Values, RegExp]>([
    [
      'the namespace of trials is that of the release',
      { trials: { namespace: 'passband' } },
      /trials\.namespace: passband is the release's own/,
    ],
    [
      'the namespace of trials is the system’s',
      { trials: { namespace: 'kube-system' } },
      /trials\.namespace: kube-system is not this chart's/,
    ],
    [
      'credentials over plain HTTP',
      { registrySecret: 'r', kubernetes: { registry: { ...kubernetes.registry, insecure: true } } },
      /registrySecret: .* in the clear/,
    ],
    [
      'a survey that need prove nothing',
      { kubernetes: { ...kubernetes, proof: { required: [] } } },
      /proof\/required': minItems/,
    ],
    [
      'images to build without BuildKit',
      { imagesBuild: { enabled: true, tasksClaim: 't' } },
      /imagesBuild\.enabled: no BuildKit/,
    ],
    [
      'images to build without tasks',
      { imagesBuild: { enabled: true }, kubernetes: { ...kubernetes, buildkit: { address: 'tcp://b:1' } } },
      /imagesBuild\.enabled: no tasks/,
    ],
    ['an unknown name', { trails: {} }, /'trails' not allowed/],
    ['an unknown name of the driver', { kubernetes: { ...kubernetes, pods: {} } }, /'pods' not allowed/],
    ['a kubeconfig', { kubernetes: { ...kubernetes, kubeconfig: '/k' } }, /'kubeconfig' not allowed/],
    ['a store that ends with the pod', { store: { url: './results' } }, /store\/url/],
    ['an image of no version', { image: { repository: image.repository } }, /\/image/],
    ['no Temporal server', { temporal: { address: '' } }, /temporal\/address/],
    ['a quantity that is none', { trials: { quota: { pods: 'many' } } }, /quota\/pods/],
  ])('%s', async (_, values, message) => {
    expect(await refusal(values)).toMatch(message);
  });
});

test('every template has a test of its own here', async () => {
  const text = await readFile('test/cluster/chart-templates.test.ts', 'utf8');
  for (const name of await readdir('helm/passband/templates')) {
    const shown = name.replace('binding', '');
    if (name.endsWith('.yaml') && name !== 'validations.yaml') expect(text, name).toContain(shown);
  }
});
