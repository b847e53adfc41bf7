// The chart of one model's server, as helm renders it: the arguments that vLLM gets, and who may ask it.
import { readFile, readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { renderChart, type Manifest, type Values } from '../support/helm.ts';

const chart = 'helm/vllm';
const model = { name: 'org/model' };
const least = { model };

const render = (values: Values): Promise<readonly Manifest[]> =>
  renderChart(values, { chart, release: 'gemma', namespace: 'models' });

async function valuesOf(file: string): Promise<Values> {
  return z.record(z.string(), z.unknown()).parse(parse(await readFile(file, 'utf8')));
}
const reference = (): Promise<Values> => valuesOf('helm/vllm/values-reference.yaml');
const onTheCpu = (): Promise<Values> => valuesOf('test/vllm/values.yaml');

/** The only manifest of a kind, and of a name where there are several. */
async function one(kind: string, values: Values = {}, name?: string): Promise<Manifest> {
  const all = (await render({ ...least, ...values })).filter(
    (manifest) => manifest.kind === kind && (name === undefined || manifest.metadata.name === name),
  );
  expect(all, kind).toHaveLength(1);
  return all[0] ?? expect.fail(`no ${kind}`);
}

const ProbeSchema = z.object({
  httpGet: z.object({ path: z.literal('/health'), port: z.literal('http') }),
  periodSeconds: z.int(),
  timeoutSeconds: z.int(),
  failureThreshold: z.int(),
});
const ContainerSchema = z.looseObject({
  image: z.string(),
  command: z.array(z.string()),
  args: z.array(z.string()),
  env: z.array(
    z.looseObject({ name: z.string(), value: z.string().optional(), valueFrom: z.unknown().optional() }),
  ),
  resources: z.object({
    requests: z.record(z.string(), z.unknown()).optional(),
    limits: z.record(z.string(), z.unknown()).optional(),
  }),
  startupProbe: ProbeSchema,
  livenessProbe: ProbeSchema,
  readinessProbe: ProbeSchema,
  securityContext: z.unknown(),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
});
const SetSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    serviceName: z.string(),
    replicas: z.int(),
    podManagementPolicy: z.string(),
    volumeClaimTemplates: z
      .array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) }))
      .optional(),
    template: z.looseObject({
      metadata: z.looseObject({
        labels: z.record(z.string(), z.string()),
        annotations: z.record(z.string(), z.string()).optional(),
      }),
      spec: z.looseObject({
        automountServiceAccountToken: z.literal(false),
        enableServiceLinks: z.literal(false),
        terminationGracePeriodSeconds: z.int(),
        securityContext: z.unknown(),
        containers: z.array(ContainerSchema).length(1),
        volumes: z.array(z.looseObject({ name: z.string() })),
      }),
    }),
  }),
});

async function serverOf(values: Values = {}) {
  const { spec } = SetSchema.parse(await one('StatefulSet', values));
  return {
    set: spec,
    pod: spec.template.spec,
    container: ContainerSchema.parse(spec.template.spec.containers[0]),
  };
}

const argsOf = async (values: Values): Promise<readonly string[]> => (await serverOf(values)).container.args;

describe('the arguments of `vllm serve`', () => {
  test('are the least that a model needs, where values say no more', async () => {
    const { container } = await serverOf();
    expect(container.command).toEqual(['vllm', 'serve']);
    expect(container.args).toEqual([
      'org/model',
      '--host=0.0.0.0',
      '--port=8000',
      '--served-model-name=org/model',
      '--dtype=auto',
      '--tensor-parallel-size=1',
      '--enable-prompt-tokens-details',
      '--shutdown-timeout=55',
    ]);
  });

  test('are those of the reference model: context, adapters, parsers, eight GPUs', async () => {
    const { container } = await serverOf(await reference());
    const adapter = (step: number): string =>
      JSON.stringify({
        base_model_name: 'google/gemma-4-31B-it',
        name: `gemma-4-31b-step-${step}`,
        path: `/adapters/step-${step}`,
      });
    expect(container.args).toEqual([
      'google/gemma-4-31B-it',
      '--host=0.0.0.0',
      '--port=8000',
      '--served-model-name=google/gemma-4-31B-it',
      '--dtype=bfloat16',
      '--max-model-len=262144',
      '--tensor-parallel-size=8',
      '--enable-lora',
      '--max-lora-rank=32',
      '--max-loras=2',
      '--lora-modules',
      adapter(200),
      adapter(400),
      '--reasoning-parser=gemma4',
      '--enable-auto-tool-choice',
      '--tool-call-parser=gemma4',
      '--enable-prompt-tokens-details',
      '--shutdown-timeout=55',
    ]);
    for (const amounts of [container.resources.requests, container.resources.limits])
      expect(amounts).toMatchObject({ 'nvidia.com/gpu': 8 });
  });

  test('are those of the tiny model on the CPU, which asks for no GPU', async () => {
    const { container } = await serverOf(await onTheCpu());
    expect(container.args).toEqual([
      '/models/tiny',
      '--host=0.0.0.0',
      '--port=8000',
      '--served-model-name=tiny',
      '--dtype=bfloat16',
      '--max-model-len=16384',
      '--tensor-parallel-size=1',
      '--enable-lora',
      '--max-lora-rank=8',
      '--max-loras=1',
      '--lora-modules',
      JSON.stringify({ base_model_name: 'tiny', name: 'tiny-adapted', path: '/models/tiny-lora' }),
      '--reasoning-parser=deepseek_r1',
      '--enable-auto-tool-choice',
      '--tool-call-parser=hermes',
      '--enable-prompt-tokens-details',
      '--shutdown-timeout=25',
      '--enforce-eager',
      '--max-num-seqs=8',
    ]);
    expect(JSON.stringify(container.resources)).not.toContain('gpu');
  });

  test('name the commit for weights and tokenizer alike, but not for a tokenizer of another place', async () => {
    const revision = 'c'.repeat(40);
    expect(await argsOf({ model: { ...model, revision } })).toEqual(
      expect.arrayContaining([`--revision=${revision}`, `--tokenizer-revision=${revision}`]),
    );
    const other = await argsOf({ model: { ...model, revision, tokenizer: 'org/tokenizer' } });
    expect(other).toContain('--tokenizer=org/tokenizer');
    expect(other.join(' ')).not.toContain('--tokenizer-revision');
  });

  test('choose tools by themselves exactly where there is a parser for their calls', async () => {
    expect(await argsOf({})).not.toContain('--enable-auto-tool-choice');
    expect(await argsOf({ toolCallParser: 'hermes' })).toContain('--enable-auto-tool-choice');
  });

  test('keep quotes and spaces of further ones', async () => {
    const extraArgs = ['--limit-mm-per-prompt={"image": 0}', "--override-generation-config={'a': 1}"];
    expect(await argsOf({ extraArgs })).toEqual(expect.arrayContaining(extraArgs));
  });
});

describe('statefulset.yaml', () => {
  test('gives replicas names of their own, and lets them load beside each other', async () => {
    const { set } = await serverOf({ replicas: 3 });
    expect([set.replicas, set.serviceName, set.podManagementPolicy]).toEqual([
      3,
      'gemma-replicas',
      'Parallel',
    ]);
  });

  test('lets a slow load take its time, and gives up a dead server long before that', async () => {
    const { container } = await serverOf({ probes: { startSec: 7200, deadSec: 120 } });
    const seconds = (probe: z.infer<typeof ProbeSchema>): number =>
      probe.periodSeconds * probe.failureThreshold;
    expect(seconds(container.startupProbe)).toBe(7200);
    expect(seconds(container.livenessProbe)).toBe(120);
    expect(seconds(container.readinessProbe)).toBeLessThan(seconds(container.livenessProbe));
  });

  test('conforms to Pod Security restricted, and writes to volumes alone', async () => {
    const { pod, container } = await serverOf({ runAsUser: 7 });
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 7,
      fsGroup: 7,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const places = container.volumeMounts.map(({ mountPath }) => mountPath);
    expect(places).toEqual(['/tmp', '/cache', '/dev/shm']);
    for (const name of [
      'HOME',
      'HF_HOME',
      'VLLM_CACHE_ROOT',
      'TORCHINDUCTOR_CACHE_DIR',
      'TRITON_CACHE_DIR',
    ]) {
      const value = container.env.find((variable) => variable.name === name)?.value ?? '';
      expect(
        places.some((place) => value === place || value.startsWith(`${place}/`)),
        name,
      ).toBe(true);
    }
  });

  test('takes the hub’s token and the API key from Secrets, by name', async () => {
    const { container } = await serverOf({
      huggingFace: { tokenSecret: 'hub' },
      apiKey: { secret: 'key', key: 'vllm' },
    });
    const secret = (name: string, key: string) => ({ valueFrom: { secretKeyRef: { name, key } } });
    expect(container.env).toContainEqual({ name: 'HF_TOKEN', ...secret('hub', 'token') });
    expect(container.env).toContainEqual({ name: 'VLLM_API_KEY', ...secret('key', 'vllm') });
  });

  test.each<[string, Values, unknown]>([
    ['nothing that stays', { kind: 'emptyDir' }, { name: 'cache', emptyDir: {} }],
    [
      'so much and no more',
      { kind: 'emptyDir', size: '9Gi' },
      { name: 'cache', emptyDir: { sizeLimit: '9Gi' } },
    ],
    [
      'a folder of the node',
      { kind: 'hostPath', hostPath: '/weights' },
      { name: 'cache', hostPath: { path: '/weights', type: 'Directory' } },
    ],
    [
      'a claim of the user’s',
      { kind: 'claim', existingClaim: 'weights' },
      { name: 'cache', persistentVolumeClaim: { claimName: 'weights' } },
    ],
  ])('has as its cache %s', async (_, cache, volume) => {
    const { pod, set } = await serverOf({ cache });
    expect(pod.volumes).toContainEqual(volume);
    expect(set.volumeClaimTemplates).toBeUndefined();
  });

  test('has as its cache a claim of each replica', async () => {
    const { pod, set } = await serverOf({ cache: { kind: 'claim', size: '200Gi', storageClass: 'fast' } });
    expect(pod.volumes.map(({ name }) => name)).not.toContain('cache');
    expect(set.volumeClaimTemplates).toEqual([
      expect.objectContaining({
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'fast',
          resources: { requests: { storage: '200Gi' } },
        },
      }),
    ]);
  });

  test('counts GPUs by the name that the nodes have for them', async () => {
    const { container } = await serverOf({ tensorParallelSize: 4, gpu: { resource: 'amd.com/gpu' } });
    expect(container.resources.limits).toEqual({ 'amd.com/gpu': 4 });
  });

  test('is scraped, or is not', async () => {
    const annotations = async (wanted: boolean) =>
      (await serverOf({ metrics: { annotations: wanted } })).set.template.metadata.annotations;
    expect(await annotations(true)).toMatchObject({
      'prometheus.io/port': '8000',
      'prometheus.io/path': '/metrics',
    });
    expect(await annotations(false)).toBeUndefined();
  });
});

describe('service.yaml', () => {
  test('gives all replicas one address, and each replica one of its own, which it keeps while it loads', async () => {
    const { set } = await serverOf();
    const shared = await one('Service', {}, 'gemma');
    const replicas = await one('Service', {}, set.serviceName);
    expect(shared['spec']).not.toHaveProperty('clusterIP');
    expect(replicas['spec']).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true });
  });

  test.each(['gemma', 'gemma-replicas'])('%s selects the pods', async (name) => {
    const { spec } = z
      .looseObject({ spec: z.looseObject({ selector: z.record(z.string(), z.string()) }) })
      .parse(await one('Service', {}, name));
    expect((await serverOf()).set.template.metadata.labels).toMatchObject(spec.selector);
  });
});

describe('networkpolicy.yaml', () => {
  test('lets in the pods that helm/passband makes of its workers, and nobody else', async () => {
    const policy = await one('NetworkPolicy');
    const worker = (
      await renderChart({
        image: { repository: 'registry.example/worker', tag: '1' },
        temporal: { address: 'temporal.example:7233' },
        store: { url: 's3://passband-store/grading' },
        kubernetes: { registry: { repository: 'registry.example/passband' } },
      })
    ).find(({ kind }) => kind === 'Deployment');
    const { spec } = z
      .object({
        spec: z.looseObject({
          template: z.looseObject({ metadata: z.looseObject({ labels: z.record(z.string(), z.string()) }) }),
        }),
      })
      .parse(worker);
    const podLabels = { 'app.kubernetes.io/name': 'passband', 'app.kubernetes.io/component': 'worker' };
    expect(spec.template.metadata.labels).toMatchObject(podLabels);
    expect(policy['spec']).toMatchObject({
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [
            {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'passband' } },
              podSelector: { matchLabels: podLabels },
            },
          ],
          ports: [{ protocol: 'TCP', port: 8000 }],
        },
      ],
    });
  });

  test('lets in further peers, and keeps the server from everywhere, where values say so', async () => {
    const alsoFrom = [{ ipBlock: { cidr: '172.30.0.1/32' } }];
    const policy = await one('NetworkPolicy', {
      huggingFace: { offline: true },
      networkPolicy: { alsoFrom, denyEgress: true },
    });
    expect(policy['spec']).toMatchObject({
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [{}, alsoFrom[0]] }],
    });
    expect(policy['spec']).not.toHaveProperty('egress');
  });

  test('is left out where values say so', async () => {
    const kinds = (await render({ ...least, networkPolicy: { enabled: false } })).map(({ kind }) => kind);
    expect(kinds).not.toContain('NetworkPolicy');
  });
});

describe('poddisruptionbudget.yaml', () => {
  test('lets a drain have one replica at a time, and one that loads at any', async () => {
    const budget = await one('PodDisruptionBudget');
    expect(budget['spec']).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  });
});

describe('servicemonitor.yaml', () => {
  test('is there where values say so, and selects the Service that has each replica once', async () => {
    expect((await render(least)).map(({ kind }) => kind)).not.toContain('ServiceMonitor');
    const monitor = await one('ServiceMonitor', {
      metrics: { serviceMonitor: { enabled: true, labels: { release: 'prometheus' } } },
    });
    expect(monitor.metadata.labels).toMatchObject({ release: 'prometheus' });
    const { spec } = z
      .looseObject({
        spec: z.looseObject({ selector: z.object({ matchLabels: z.record(z.string(), z.string()) }) }),
      })
      .parse(monitor);
    const selected = (await render(least)).filter(
      ({ kind, metadata }) =>
        kind === 'Service' &&
        Object.entries(spec.selector.matchLabels).every(([key, value]) => metadata.labels[key] === value),
    );
    expect(selected.map(({ metadata }) => metadata.name)).toEqual(['gemma-replicas']);
  });
});

test('every template has a test of its own here', async () => {
  const text = await readFile('test/cluster/vllm-chart.test.ts', 'utf8');
  for (const name of await readdir('helm/vllm/templates')) {
    if (name.endsWith('.yaml') && name !== 'validations.yaml') expect(text, name).toContain(name);
  }
});
