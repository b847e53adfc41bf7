// The pod of a sandbox, as a pure function of its spec: what it may use, and what it may not do.
import type { V1Container, V1OwnerReference, V1Pod, V1PodSpec, V1Toleration } from '@kubernetes/client-node';
import { specDigest } from '../sandbox/spec-digest.ts';
import { boundsArguments } from '../sandbox/supervised/bounds.ts';
import { capabilities, supervisorPath } from '../sandbox/supervised/supervisor.ts';
import type { SandboxSpec } from '../sandbox/port.ts';
import type { ImageFacts } from '../sandbox/supervised/facts.ts';
import type { KubernetesConfig } from './config.ts';
import { pinned } from './images/images.ts';
import { keys, labelsOf, type Role, type WrittenFacts } from './labels.ts';
import { mainContainer } from './observed-pod.ts';

export interface PodImage extends ImageFacts {
  readonly volumes: readonly string[];
}

export interface PodRequest {
  readonly spec: SandboxSpec;
  readonly image: PodImage;
  readonly config: KubernetesConfig['pod'];
  /** What the pod is not to outlive; null where nothing is known of it. */
  readonly owner: V1OwnerReference | null;
  /** Whether this cluster's runtime was seen to have user namespaces. */
  readonly userNamespaces: boolean;
}

/** SIGTERM ends PID 1 at once, so there is nothing to wait for. */
const graceSec = 1;

/** Kubelets put the API server's address into every container, service links or not: no sandbox's command is to see it. */
export const forgetting = ['--forget', 'KUBERNETES_SERVICE_,KUBERNETES_PORT'] as const;

/** What every pod of ours is, whatever runs in it: nothing of the cluster is given to it. */
export function bareSpec(
  config: KubernetesConfig['pod'],
  userNamespaces: boolean,
): Omit<V1PodSpec, 'containers'> {
  const namespaces =
    config.userNamespaces === 'always' || (config.userNamespaces === 'auto' && userNamespaces);
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // No name resolves: the address is the pod's own, where nobody listens.
    dnsPolicy: 'None',
    dnsConfig: { nameservers: ['127.0.0.1'] },
    hostname: 'sandbox',
    terminationGracePeriodSeconds: graceSec,
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    nodeSelector: { ...config.nodeSelector },
    tolerations: config.tolerations.map(tolerationOf),
    imagePullSecrets: config.imagePullSecrets.map((name) => ({ name })),
    ...(namespaces ? { hostUsers: false } : {}),
    ...(config.runtimeClassName === undefined ? {} : { runtimeClassName: config.runtimeClassName }),
    ...(config.priorityClassName === undefined ? {} : { priorityClassName: config.priorityClassName }),
  };
}

function tolerationOf(given: KubernetesConfig['pod']['tolerations'][number]): V1Toleration {
  const { key, operator, value, effect, tolerationSeconds } = given;
  return {
    ...(key === undefined ? {} : { key }),
    ...(operator === undefined ? {} : { operator }),
    ...(value === undefined ? {} : { value }),
    ...(effect === undefined ? {} : { effect }),
    ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
  };
}

/** What a container of ours may do: that of root inside an image, and nothing to the node. */
export function securityOf(user: string): NonNullable<V1Container['securityContext']> {
  return {
    runAsUser: 0,
    runAsGroup: 0,
    privileged: false,
    readOnlyRootFilesystem: false,
    // A user that is not root may need sudo; for root there is nothing to gain by it.
    allowPrivilegeEscalation: !isRoot(user),
    capabilities: { drop: ['ALL'], add: [...capabilities] },
  };
}

/**
 * What to ask the API server for. PID 1 is the supervisor, as root whatever the image says; the image's user is what
 * its commands get.
 */
export function podOf({ spec, image, config, owner, userNamespaces }: PodRequest): V1Pod {
  const workdir = spec.workdir ?? image.workdir;
  const user = image.user === '' ? [] : ['--user', image.user];
  const { env, network, baseline } = spec;
  const facts: WrittenFacts = {
    env: { ...env },
    network,
    baseline,
    imageDigest: spec.image.digest,
    image: { user: image.user, workdir, entrypoint: [...image.entrypoint] },
    volumes: [...image.volumes],
  };
  const head = headOf(spec, 'sandbox', owner);
  return {
    ...head,
    metadata: {
      ...head.metadata,
      annotations: {
        ...head.metadata?.annotations,
        [keys.spec]: specDigest(spec),
        [keys.facts]: JSON.stringify(facts),
      },
    },
    spec: {
      ...bareSpec(config, userNamespaces),
      activeDeadlineSeconds: Math.max(1, Math.ceil(spec.lifetimeSec)),
      containers: [
        {
          name: mainContainer,
          image: pinned(spec.image),
          // By digest: what a node holds is what is meant.
          imagePullPolicy: 'IfNotPresent',
          command: [
            supervisorPath,
            'init',
            '--workdir',
            workdir,
            ...user,
            ...forgetting,
            ...boundsArguments(spec),
            ...(baseline ? ['--baseline'] : []),
          ],
          // Entered by the supervisor: runtimes differ over a work directory that is not there.
          workingDir: '/',
          securityContext: securityOf(image.user),
          resources: resourcesOf(spec, config),
          terminationMessagePath: '/dev/termination-log',
        },
      ],
    },
  };
}

/** Name, labels and owner of a pod. */
export function headOf(
  { name, labels }: Pick<SandboxSpec, 'name' | 'labels'>,
  role: Role,
  owner: V1OwnerReference | null,
): Pick<V1Pod, 'apiVersion' | 'kind' | 'metadata'> {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: labelsOf(labels, role),
      annotations: { [keys.labels]: JSON.stringify(labels) },
      ...(owner === null ? {} : { ownerReferences: [owner] }),
    },
  };
}

/**
 * Memory is asked for whole: a node that promised more than it has takes it from whoever is there, and that is not told
 * from a limit that was passed. `requestedDiskMiB`: what is asked of the node's disk, where that is not all that may be
 * used.
 */
export function resourcesOf(
  { cpus, memoryMiB, diskMiB }: Pick<SandboxSpec, 'cpus' | 'memoryMiB' | 'diskMiB'>,
  { requestedCpus }: Pick<KubernetesConfig['pod'], 'requestedCpus'>,
  requestedDiskMiB = diskMiB,
): NonNullable<V1Container['resources']> {
  const milli = (cores: number): string => `${Math.max(1, Math.round(cores * 1_000))}m`;
  const mebi = (amount: number): string => `${Math.max(1, Math.round(amount))}Mi`;
  return {
    requests: {
      cpu: milli(cpus * requestedCpus),
      memory: mebi(memoryMiB),
      'ephemeral-storage': mebi(Math.min(requestedDiskMiB, diskMiB)),
    },
    limits: { cpu: milli(cpus), memory: mebi(memoryMiB), 'ephemeral-storage': mebi(diskMiB) },
  };
}

/** As an image names its user: a name or a uid, `:GROUP` after it or not. */
function isRoot(user: string): boolean {
  const [name = ''] = user.split(':');
  return name === '' || name === 'root' || /^0+$/.test(name);
}
