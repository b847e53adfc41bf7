// What doctor finds of a cluster: its API server, our rights, the registry, BuildKit, the nodes, what the canary saw.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import type { SandboxDriver } from '../sandbox/port.ts';
import { createClient, type Client } from './client.ts';
import type { ClusterFinding } from './cluster-finding.ts';
import type { KubernetesConfig } from './config.ts';
import { createKubernetesDriver } from './driver.ts';
import { tryPod } from './dry-run.ts';
import { examineCanary } from './examine-canary.ts';
import { Registry } from './images/registry.ts';
import { hostnameLabel, NodesSchema, roomOf, type UsableNode } from './nodes-room.ts';
import { readKubernetesConfig } from './read-config.ts';

const buildkitTimeoutMs = 10_000;
const VersionSchema = z.object({ gitVersion: z.string() });

const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).trim().replaceAll(/\s*\n\s*/g, ' | ');

async function attempt(part: string, mend: string, look: () => Promise<string>): Promise<ClusterFinding> {
  try {
    return { part, state: 'has', what: await look(), mend: null };
  } catch (error) {
    return { part, state: 'lacks', what: messageOf(error), mend };
  }
}

export interface ExamineOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Not null: also what only pods can see, made and removed again; given up when it aborts. */
  readonly canary: AbortSignal | null;
}

/** Looks at every part, whatever the others come to. Nothing is changed in the cluster without `canary`. */
export async function examine(
  file: string | null,
  { env, canary }: ExamineOptions,
): Promise<readonly ClusterFinding[]> {
  let config: KubernetesConfig;
  try {
    config = await readKubernetesConfig(file);
  } catch (error) {
    const mend = 'write the file as examples/kubernetes.yaml shows';
    return [{ part: 'cluster file', state: 'lacks', what: messageOf(error), mend }];
  }
  const [cluster, registry, buildkit] = await Promise.all([
    examineCluster(config, env),
    attempt('registry', 'check registry in the file, its mirrors and credentials', () =>
      askRegistry(config, env),
    ),
    examineBuildkit(config, env),
  ]);
  const found = [...cluster.findings, requestsFinding(config), registry, buildkit];
  if (canary === null || found.some(({ state }) => state === 'lacks')) return found;
  const driver = createKubernetesDriver(config, env);
  const on = ({ hostname }: UsableNode): SandboxDriver => {
    const nodeSelector = { ...config.pod.nodeSelector, [hostnameLabel]: hostname };
    return createKubernetesDriver({ ...config, pod: { ...config.pod, nodeSelector } }, env);
  };
  try {
    return [...found, ...(await examineCanary({ driver, on, nodes: cluster.nodes }, canary))];
  } finally {
    await driver.close();
  }
}

/** Memory is requested whole; whether a pod has all of both decides whom a node without memory takes first. */
export function requestsFinding({ pod: { requestedCpus } }: Pick<KubernetesConfig, 'pod'>): ClusterFinding {
  const part = 'requests';
  if (requestedCpus === 1) {
    return { part, state: 'has', what: 'pods request all that they may use (Guaranteed)', mend: null };
  }
  return {
    part,
    state: 'note',
    what: `pods request all of their memory and ${requestedCpus} of their cpus (Burstable): commands take longer where nodes are full, and of a node whose memory something else uses up they are taken first`,
    mend: 'set pod.requestedCpus to 1, or keep everything else off the nodes of trials, by a taint',
  };
}

interface ExaminedCluster {
  readonly findings: readonly ClusterFinding[];
  /** That can take trials. */
  readonly nodes: readonly UsableNode[];
}

async function examineCluster(config: KubernetesConfig, env: NodeJS.ProcessEnv): Promise<ExaminedCluster> {
  let client: Client | null = null;
  const cluster = await attempt(
    'cluster',
    'check kubeconfig in the file, KUBECONFIG, and that its API server can be reached from here',
    async () => {
      client = createClient(config, env);
      const version = await client.call({ what: 'asking for its version', path: '/version' }, VersionSchema);
      return `Kubernetes ${version.gitVersion} at ${client.server}`;
    },
  );
  const open = client as Client | null;
  if (open === null) return { findings: [cluster], nodes: [] };
  try {
    if (cluster.state !== 'has') return { findings: [cluster], nodes: [] };
    const permissions = await examinePermissions(config, env);
    const mend = 'install helm/passband, which makes it, or mend namespace and pod in the file';
    const namespace = await attempt('namespace', mend, () => tryPod(open, config));
    const { finding, nodes } = await examineNodes(open, config);
    return { findings: [cluster, permissions, namespace, finding], nodes };
  } finally {
    await open.close();
  }
}

async function examinePermissions(config: KubernetesConfig, env: NodeJS.ProcessEnv): Promise<ClusterFinding> {
  const driver = createKubernetesDriver(config, env);
  try {
    await driver.check();
    return {
      part: 'permissions',
      state: 'has',
      what: `all that are needed in namespace ${config.namespace}`,
      mend: null,
    };
  } catch (error) {
    const forbidden = error instanceof ClassifiedError && error.failureClass === 'Forbidden';
    return {
      part: forbidden ? 'permissions' : 'driver',
      state: 'lacks',
      what: messageOf(error),
      mend: forbidden
        ? 'install helm/passband, which grants them, or bind the Role and ClusterRole that it renders'
        : 'see docs/run-kubernetes.md',
    };
  } finally {
    await driver.close();
  }
}

async function examineNodes(
  client: Client,
  { pod }: KubernetesConfig,
): Promise<{ readonly finding: ClusterFinding; readonly nodes: readonly UsableNode[] }> {
  const part = 'nodes';
  const mend = 'add a node, uncordon one, or mend pod.nodeSelector and pod.tolerations in the file';
  try {
    const nodes = await client.call({ what: 'listing the nodes', path: '/api/v1/nodes' }, NodesSchema);
    const { usable, text } = roomOf(nodes, pod);
    const finding: ClusterFinding =
      usable.length === 0
        ? { part, state: 'lacks', what: text, mend }
        : { part, state: 'has', what: text, mend: null };
    return { finding, nodes: usable };
  } catch (error) {
    return { finding: { part, state: 'lacks', what: messageOf(error), mend }, nodes: [] };
  }
}

/** Asks for an image that nobody pushes: that it is not there is an answer, and the credentials were taken. */
async function askRegistry({ registry }: KubernetesConfig, env: NodeJS.ProcessEnv): Promise<string> {
  await new Registry(registry, env).digestOf(`${registry.repository}/doctor:none`);
  return `${registry.repository} answers`;
}

async function examineBuildkit(
  { buildkit }: KubernetesConfig,
  env: NodeJS.ProcessEnv,
): Promise<ClusterFinding> {
  if (buildkit === undefined) {
    return {
      part: 'buildkit',
      state: 'note',
      what: 'none is named: images cannot be built',
      mend: 'name one under buildkit in the file',
    };
  }
  const { address, buildctl = 'buildctl' } = buildkit;
  return await attempt(
    'buildkit',
    'start buildkitd there, and put its client buildctl on PATH or name it as buildkit.buildctl',
    async () => {
      const { stdout } = await promisify(execFile)(buildctl, ['--addr', address, 'debug', 'workers'], {
        env,
        timeout: buildkitTimeoutMs,
      });
      const platforms = stdout.trim().split('\n').at(-1)?.split(/\s+/).at(-1) ?? '';
      return `answers at ${address} (${platforms})`;
    },
  );
}
