// What the Kubernetes driver must be told: one YAML file, which the chart renders, parsed strictly.
import { z } from 'zod';

/** RFC 1123 label: names of namespaces, classes, Secrets. */
const nameSchema = z
  .string()
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'a name of lower-case letters, digits and dashes');

const TolerationSchema = z.strictObject({
  key: z.string().optional(),
  operator: z.enum(['Exists', 'Equal']).optional(),
  value: z.string().optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
  tolerationSeconds: z.int().min(0).optional(),
});

const TargetSchema = z.strictObject({
  name: z.string().min(1),
  kind: z.enum(['tcp', 'udp-dns']),
  host: z.string().min(1),
  port: z.int().min(1).max(65_535),
});

export const KubernetesConfigSchema = z.strictObject({
  /** A kubeconfig file; unset: KUBECONFIG, ~/.kube/config, or the pod's own service account. */
  kubeconfig: z.string().min(1).optional(),
  /** Where the pods of trials live, and nothing else does. */
  namespace: nameSchema.default('passband-trials'),
  registry: z.strictObject({
    /** HOST[:PORT]/PREFIX that images are pushed to and pulled from. */
    repository: z.string().regex(/^[a-z0-9.-]+(:\d+)?(\/[a-z0-9._/-]+)?$/, 'HOST[:PORT][/PREFIX]'),
    /** Plain HTTP. */
    insecure: z.boolean().default(false),
    /** A Docker config file with the credentials. */
    dockerConfig: z.string().min(1).optional(),
    /** Registries that stand in for others by host: {"docker.io": "registry:5000"}. As the nodes and BuildKit have them. */
    mirrors: z.record(z.string(), z.string()).default({}),
  }),
  buildkit: z
    .strictObject({
      /** unix:///… or tcp://HOST:PORT. */
      address: z.string().regex(/^(unix|tcp):\/\/.+/, 'unix://PATH or tcp://HOST:PORT'),
      /** The client program; unset: `buildctl` on PATH. */
      buildctl: z.string().min(1).optional(),
    })
    .optional(),
  pod: z
    .strictObject({
      runtimeClassName: nameSchema.optional(),
      /** `auto`: where the canary saw that the runtime has them. */
      userNamespaces: z.enum(['never', 'auto', 'always']).default('never'),
      nodeSelector: z.record(z.string(), z.string()).default({}),
      tolerations: z.array(TolerationSchema).default([]),
      priorityClassName: nameSchema.optional(),
      imagePullSecrets: z.array(nameSchema).default([]),
      /** The share of a task's cpus that a pod requests; its limit is the task's own, whole. Memory is requested whole. */
      requestedCpus: z.number().gt(0).max(1).default(1),
    })
    .prefault({}),
  /** How long a pod may wait for a place on a node, or for an image, before its activity is asked again. */
  placeSec: z.int().min(1).default(240),
  /** How long a node may be not ready before its pods are given up. */
  nodeGraceSec: z.int().min(1).default(40),
  proof: z
    .strictObject({
      /** Places beside the cluster's own that no trial may reach. */
      targets: z.array(TargetSchema).default([
        { name: 'metadata address', kind: 'tcp', host: '169.254.169.254', port: 80 },
        { name: 'outside address', kind: 'tcp', host: '203.0.113.10', port: 443 },
      ]),
      /** Names of targets that must answer the canary: where one does not, the sweep stops. */
      required: z.array(z.string()).min(1, 'at least one name').default(['API server', 'another pod']),
    })
    .prefault({}),
});
export type KubernetesConfig = z.infer<typeof KubernetesConfigSchema>;
