// What the nodes of a cluster have for trials, in one line: those that are ready, take such pods, and have the labels asked for.
import { z } from 'zod';
import type { KubernetesConfig } from './config.ts';
import { quantityOf } from './scheduling.ts';

const quantity = z.string().transform((text, context) => {
  const value = quantityOf(text);
  if (value !== null) return value;
  context.addIssue('it takes a quantity');
  return z.NEVER;
});

export const NodesSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()).default({}) }),
      spec: z.object({
        unschedulable: z.boolean().default(false),
        taints: z
          .array(z.object({ key: z.string(), value: z.string().default(''), effect: z.string() }))
          .default([]),
      }),
      status: z.object({
        allocatable: z.object({
          cpu: quantity,
          memory: quantity,
          'ephemeral-storage': quantity.optional(),
          pods: quantity.optional(),
        }),
        conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
      }),
    }),
  ),
});
export type Nodes = z.infer<typeof NodesSchema>;
type Node = Nodes['items'][number];
type Taint = Node['spec']['taints'][number];
type Wanted = Pick<KubernetesConfig['pod'], 'nodeSelector' | 'tolerations'>;

export const hostnameLabel = 'kubernetes.io/hostname';

/** A node that can take trials. `hostname`: what selects it. */
export interface UsableNode {
  readonly name: string;
  readonly hostname: string;
}

const gib = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;

const isTolerated = (taint: Taint, tolerations: Wanted['tolerations']): boolean =>
  taint.effect === 'PreferNoSchedule' ||
  tolerations.some(
    ({ key, operator = 'Equal', value = '', effect }) =>
      (key === undefined ? operator === 'Exists' : key === taint.key) &&
      (operator === 'Exists' || value === taint.value) &&
      (effect === undefined || effect === taint.effect),
  );

function why(node: Node, { nodeSelector, tolerations }: Wanted): string | null {
  const ready = node.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  if (!ready) return 'not ready';
  if (node.spec.unschedulable) return 'cordoned';
  const taint = node.spec.taints.find((one) => !isTolerated(one, tolerations));
  if (taint !== undefined) return `with the taint ${taint.key}`;
  const other = Object.entries(nodeSelector).find(([key, value]) => node.metadata.labels[key] !== value);
  return other === undefined ? null : `without the label ${other.join('=')}`;
}

/** Nodes that can take a trial's pod, and a line on each node; room is what a node allots to pods, used or not. */
export function roomOf(
  { items }: Nodes,
  wanted: Wanted,
): { readonly usable: readonly UsableNode[]; readonly text: string } {
  const lines = items.map((node) => {
    const { cpu, memory, pods, 'ephemeral-storage': disk } = node.status.allocatable;
    const room = [
      `${cpu} cpus`,
      `${gib(memory)} of memory`,
      ...(disk === undefined ? [] : [`${gib(disk)} of disk`]),
      ...(pods === undefined ? [] : [`${pods} pods`]),
    ].join(', ');
    const refused = why(node, wanted);
    const { name, labels } = node.metadata;
    const usable = refused === null ? [{ name, hostname: labels[hostnameLabel] ?? name }] : [];
    return { usable, text: `${name} ${refused ?? `with ${room}`}` };
  });
  const usable = lines.flatMap((line) => line.usable);
  const listed = lines.length === 0 ? 'none' : lines.map(({ text }) => text).join('; ');
  return { usable, text: `${usable.length} of ${lines.length} can take trials: ${listed}` };
}
