// What doctor says of a cluster's nodes.
import { expect, it } from 'vitest';
import { NodesSchema, roomOf } from '../../k8s/nodes-room.ts';

const node = (
  name: string,
  more: { ready?: string; cordoned?: boolean; labels?: Record<string, string> },
) => ({
  metadata: { name, labels: more.labels },
  spec: { unschedulable: more.cordoned },
  status: {
    allocatable: { cpu: '1930m', memory: '4194304Ki', pods: '110', 'ephemeral-storage': '10737418240' },
    conditions: [{ type: 'Ready', status: more.ready ?? 'True' }],
  },
});

const nodes = NodesSchema.parse({
  items: [
    node('a', { labels: { pool: 'trials' } }),
    node('b', { labels: { pool: 'trials' }, cordoned: true }),
    node('c', { ready: 'Unknown' }),
    node('d', {}),
  ],
});

it('tells the room of nodes that can take trials, and why the others cannot', () => {
  expect(roomOf(nodes, { pool: 'trials' })).toEqual({
    usable: 1,
    text: '1 of 4 can take trials: a with 1.93 cpus, 4.0 GiB of memory, 10.0 GiB of disk, 110 pods; b cordoned; c not ready; d without the label pool=trials',
  });
  expect(roomOf(nodes, {}).usable).toBe(2);
});

it('says that there are none', () => {
  expect(roomOf({ items: [] }, {})).toEqual({ usable: 0, text: '0 of 0 can take trials: none' });
});
