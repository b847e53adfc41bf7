// The cluster that tests run on: the project's own (test/cluster), or the user's named in PASSBAND_TEST_KUBECONFIG.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CoreV1Api, KubeConfig, NetworkingV1Api } from '@kubernetes/client-node';
import { z } from 'zod';
import { KubernetesConfigSchema, type KubernetesConfig } from '../../k8s/config.ts';
import { networkPolicies } from '../../k8s/network-policy.ts';
import { clusterNode, type ClusterNode } from './cluster-node.ts';

const run = promisify(execFile);
const script = join(import.meta.dirname, '..', 'cluster', 'cluster.sh');
/** A cold `up` builds Kubernetes. */
const upTimeoutMs = 2_400_000;
const removeTimeoutMs = 90_000;

const FactsSchema = z.object({
  kubeconfig: z.string().min(1),
  /** HOST:PORT, over plain HTTP; stands in for docker.io, and holds library/debian:12 and library/busybox:1. */
  registry: z.string().min(1),
  /** unix://PATH or tcp://HOST:PORT */
  buildkit: z.string().min(1),
  /** HOST:PORT */
  temporal: z.string().min(1),
  s3: z.object({ endpoint: z.string(), access: z.string(), secret: z.string() }),
  /** An address of this machine that pods could reach, were they let: what a test listens on. */
  host: z.string().min(1),
  programs: z.object({ kubectl: z.string(), helm: z.string(), buildctl: z.string() }),
});
type ClusterFacts = z.infer<typeof FactsSchema>;

const PartSchema = z.object({ name: z.string(), address: z.string(), answers: z.boolean() });
const StatusSchema = FactsSchema.extend({ up: z.boolean(), run: z.string(), parts: z.array(PartSchema) });
export type ClusterStatus = z.infer<typeof StatusSchema>;

/** Whether the cluster is the project's own. On a user's, nodes are nobody's to kill: such tests are skipped there. */
export const ownCluster = (process.env['PASSBAND_TEST_KUBECONFIG'] ?? '') === '';

export interface TestCluster extends ClusterFacts {
  readonly client: KubeConfig;
  kubectl(...args: string[]): Promise<string>;
  /** A driver's configuration whose trials live in this namespace. */
  config(namespace: string): KubernetesConfig;
  /** Makes a namespace as the chart makes that of trials; one of this name that an earlier run left is removed first. */
  namespace(name: string): Promise<TestNamespace>;
  /** By number, or by the name that a pod's spec has. Throws on a user's cluster. */
  node(node: number | string): ClusterNode;
}

export interface TestNamespace {
  readonly name: string;
  /** With all that is in it; returns when it is gone. */
  remove(): Promise<void>;
}

/** The cluster, brought up where it is not. It stays up: `npm run cluster down` ends it. */
export async function startTestCluster(): Promise<TestCluster> {
  const facts = ownCluster ? await ownFacts() : foreignFacts(process.env);
  const client = new KubeConfig();
  client.loadFromFile(facts.kubeconfig);
  return {
    ...facts,
    client,
    kubectl: async (...args) =>
      (await run(facts.programs.kubectl, ['--kubeconfig', facts.kubeconfig, ...args])).stdout,
    config: (namespace) => configOf(facts, namespace),
    namespace: (name) => makeNamespace(client, name),
    node: (node) => {
      if (!ownCluster)
        throw new Error("this test needs the project's own cluster: its nodes are ours to break");
      return clusterNode(Number(String(node).replace('node', '')), client);
    },
  };
}

/** What `npm run cluster status` finds, whether all of it answers or not. */
export async function clusterStatus(): Promise<ClusterStatus> {
  const status = await run('bash', [script, 'status', '--json']).catch((error: unknown) => {
    // It exits with 1 where something does not answer, and says all the same what does.
    if (error instanceof Error && 'stdout' in error && error.stdout !== '') return { stdout: error.stdout };
    throw error;
  });
  return StatusSchema.parse(JSON.parse(z.string().parse(status.stdout)));
}

async function ownFacts(): Promise<ClusterFacts> {
  try {
    await run('bash', [script, 'up'], { timeout: upTimeoutMs, maxBuffer: 64 * 1024 ** 2 });
  } catch (error) {
    const said = z.object({ stderr: z.string() }).safeParse(error);
    throw new Error(`no test cluster: ${said.data?.stderr ?? ''}`, { cause: error });
  }
  return FactsSchema.parse(await clusterStatus());
}

/** What stands beside a user's cluster is named by the environment as well, from where its pods and this machine see it. */
function foreignFacts(env: NodeJS.ProcessEnv): ClusterFacts {
  const named = (name: string): string => {
    const value = env[`PASSBAND_TEST_${name}`] ?? '';
    if (value === '')
      throw new Error(`PASSBAND_TEST_KUBECONFIG is set: PASSBAND_TEST_${name} is needed with it`);
    return value;
  };
  return {
    kubeconfig: named('KUBECONFIG'),
    registry: named('REGISTRY'),
    buildkit: named('BUILDKIT'),
    temporal: named('TEMPORAL'),
    s3: { endpoint: named('S3'), access: named('S3_ACCESS_KEY'), secret: named('S3_SECRET_KEY') },
    host: named('HOST'),
    programs: { kubectl: 'kubectl', helm: 'helm', buildctl: 'buildctl' },
  };
}

function configOf(facts: ClusterFacts, namespace: string): KubernetesConfig {
  return KubernetesConfigSchema.parse({
    kubeconfig: facts.kubeconfig,
    namespace,
    registry: {
      repository: `${facts.registry}/passband`,
      insecure: true,
      mirrors: { 'docker.io': facts.registry },
    },
    buildkit: { address: facts.buildkit, buildctl: facts.programs.buildctl },
  });
}

async function makeNamespace(client: KubeConfig, name: string): Promise<TestNamespace> {
  const core = client.makeApiClient(CoreV1Api);
  const remove = (): Promise<void> => removeNamespace(core, name);
  await remove();
  const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' };
  await core.createNamespace({ body: { metadata: { name, labels } } });
  const networking = client.makeApiClient(NetworkingV1Api);
  for (const policy of networkPolicies()) {
    const body = { metadata: { name: policy.name }, spec: policy.spec };
    await networking.createNamespacedNetworkPolicy({ namespace: name, body });
  }
  return { name, remove };
}

async function removeNamespace(core: CoreV1Api, name: string): Promise<void> {
  const deadline = performance.now() + removeTimeoutMs;
  for (;;) {
    try {
      await core.deleteNamespace({ name });
    } catch (error) {
      const code = z.object({ code: z.int() }).safeParse(error).data?.code;
      if (code === 404) return;
      // It is being removed already.
      if (code !== 409) throw error;
    }
    if (performance.now() > deadline)
      throw new Error(`namespace ${name} is not gone after ${removeTimeoutMs} ms`);
    await sleep(250);
  }
}
