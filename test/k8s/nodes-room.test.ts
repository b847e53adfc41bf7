// What doctor says of a cluster's nodes.
import { expect, it } from 'vitest';
import { NodesSchema, roomOf } from '../../k8s/nodes-room.ts';

interface Told {
  readonly ready?: string;
  readonly cordoned?: boolean;
  readonly labels?: Record<string, string>;
  readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
}

const node = (name: string, { ready = 'True', cordoned, labels, taints }: Told) => ({
  metadata: { name, labels },
  spec: { unschedulable: cordoned, taints },
  status: {
    allocatable: { cpu: '1930m', memory: '4194304Ki', pods: '110', 'ephemeral-storage': '10737418240' },
    conditions: [{ type: 'Ready', status: ready }],
  },
});

const nodes = NodesSchema.parse({
  items: [
    node('a', { labels: { pool: 'trials', 'kubernetes.io/hostname': 'a.internal' } }),
    node('b', { labels: { pool: 'trials' }, cordoned: true }),
    node('c', { ready: 'Unknown' }),
    node('d', {}),
  ],
});

it('tells the room of nodes that can take trials, and why the others cannot', () => {
  expect(roomOf(nodes, { nodeSelector: { pool: 'trials' }, tolerations: [] })).toEqual({
    usable: [{ name: 'a', hostname: 'a.internal' }],
    text: '1 of 4 can take trials: a with 1.93 cpus, 4.0 GiB of memory, 10.0 GiB of disk, 110 pods; b cordoned; c not ready; d without the label pool=trials',
  });
  const { usable } = roomOf(nodes, { nodeSelector: {}, tolerations: [] });
  expect(usable.map(({ name }) => name)).toEqual(['a', 'd']);
});

it('says that there are none', () => {
  const none = { usable: [], text: '0 of 0 can take trials: none' };
  expect(roomOf({ items: [] }, { nodeSelector: {}, tolerations: [] })).toEqual(none);
});

it('takes a taint for a refusal unless pods tolerate it', () => {
  const tainted = NodesSchema.parse({
    items: [
      node('control', { taints: [{ key: 'control-plane', effect: 'NoSchedule' }] }),
      node('trials', { taints: [{ key: 'for', value: 'trials', effect: 'NoExecute' }] }),
      node('shared', { taints: [{ key: 'for', value: 'others', effect: 'PreferNoSchedule' }] }),
    ],
  });
  const names = (...tolerations: Parameters<typeof roomOf>[1]['tolerations']) =>
    roomOf(tainted, { nodeSelector: {}, tolerations }).usable.map(({ name }) => name);
  expect(roomOf(tainted, { nodeSelector: {}, tolerations: [] }).text).toContain(
    'control with the taint control-plane; trials with the taint for',
  );
  expect(names()).toEqual(['shared']);
  expect(names({ key: 'for', value: 'trials' })).toEqual(['trials', 'shared']);
  expect(names({ key: 'for', value: 'others' })).toEqual(['shared']);
  expect(names({ key: 'for', operator: 'Exists', effect: 'NoSchedule' })).toEqual(['shared']);
  expect(names({ operator: 'Exists' })).toEqual(['control', 'trials', 'shared']);
});
