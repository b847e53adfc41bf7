// What the nodes of a cluster have for trials, in one line: those that are ready, take pods, and have the labels asked for.
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
      spec: z.object({ unschedulable: z.boolean().default(false) }),
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

const gib = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;

function why(node: Node, selector: KubernetesConfig['pod']['nodeSelector']): string | null {
  const ready = node.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  if (!ready) return 'not ready';
  if (node.spec.unschedulable) return 'cordoned';
  const other = Object.entries(selector).find(([key, value]) => node.metadata.labels[key] !== value);
  return other === undefined ? null : `without the label ${other.join('=')}`;
}

/** Nodes that can take a trial's pod, and a line on each node; room is what a node allots to pods, used or not. */
export function roomOf(
  { items }: Nodes,
  selector: KubernetesConfig['pod']['nodeSelector'],
): { readonly usable: number; readonly text: string } {
  const lines = items.map((node) => {
    const { cpu, memory, pods, 'ephemeral-storage': disk } = node.status.allocatable;
    const room = [
      `${cpu} cpus`,
      `${gib(memory)} of memory`,
      ...(disk === undefined ? [] : [`${gib(disk)} of disk`]),
      ...(pods === undefined ? [] : [`${pods} pods`]),
    ].join(', ');
    const refused = why(node, selector);
    return { usable: refused === null, text: `${node.metadata.name} ${refused ?? `with ${room}`}` };
  });
  const usable = lines.filter((line) => line.usable).length;
  const listed = lines.length === 0 ? 'none' : lines.map(({ text }) => text).join('; ');
  return { usable, text: `${usable} of ${lines.length} can take trials: ${listed}` };
}
