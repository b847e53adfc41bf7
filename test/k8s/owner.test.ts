// The owner of a sweep's pods: one ConfigMap, which names its sweep's workflow, and which nobody forgets.
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sweepLabels, workflowLabel } from '../../domain/sandbox-labels.ts';
import type { Client } from '../../k8s/client.ts';
import { InTheWay, NotThere } from '../../k8s/kube-errors.ts';
import { labelsOf } from '../../k8s/labels.ts';
import { isOwner, Owners } from '../../k8s/owner.ts';

const Body = z.object({
  metadata: z.object({
    name: z.string(),
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()),
  }),
});
type Stored = z.infer<typeof Body>['metadata'] & {
  readonly uid: string;
  readonly creationTimestamp: string;
  deletionTimestamp?: string;
};

/** ConfigMaps of one namespace, in memory. */
let stored: Map<string, Stored>;
let owners: Owners;
beforeEach(() => {
  stored = new Map();
  owners = new Owners({ call }, 'trials');
});

const call: Client['call'] = ({ method = 'GET', path, query, body }, schema) => {
  const name = /\/configmaps\/(.+)$/.exec(path)?.[1];
  const answer = (value: unknown) => Promise.resolve(schema.parse(value));
  if (method === 'POST') {
    const { metadata } = Body.parse(body);
    if (stored.has(metadata.name)) return Promise.reject(new InTheWay('there is one'));
    const made = { ...metadata, uid: `uid-${stored.size}`, creationTimestamp: '2026-01-01T00:00:00Z' };
    stored.set(metadata.name, made);
    return answer({ metadata: made });
  }
  if (name === undefined) {
    const wanted = (query?.['labelSelector'] ?? '').split(',').map((pair) => pair.split('='));
    const items = [...stored.values()].filter(({ labels }) =>
      wanted.every(([key = '', value]) => labels[key] === value),
    );
    return answer({ items: items.map((metadata) => ({ metadata })) });
  }
  const one = stored.get(name);
  if (one === undefined) return Promise.reject(new NotThere('there is none'));
  if (method === 'DELETE') stored.delete(name);
  return answer({ metadata: one });
};

const ofTrial = (sweep: string, index = 0) => ({
  ...sweepLabels('store', sweep),
  [workflowLabel]: `trial-${sweep}-${index}`,
  'passband.phase': 'agent',
});
const podOf = (sweep: string) => ({ metadata: { labels: labelsOf(ofTrial(sweep), 'sandbox') } });
const none = () => Promise.resolve([]);

describe('the owner of a sweep', () => {
  it('is one for all its pods, and none where labels name no sweep', async () => {
    const [first, second] = [await owners.of(ofTrial('demo')), await owners.of(ofTrial('demo', 7))];
    expect(first).toEqual(second);
    expect([...stored.keys()]).toEqual([first?.name]);
    expect(await owners.of({ 'passband.test': 'x' })).toBeNull();
  });

  it('is listed with the workflow of its sweep where it owns no pod, whoever it was made for first', async () => {
    const names = ['demo', 'a-1', `${'long-name-'.repeat(9)}end.`];
    for (const sweep of names) await owners.of(ofTrial(sweep, 3));
    await owners.of({ ...sweepLabels('store', 'gated'), [workflowLabel]: 'gate-gated-0' });
    await owners.of({ ...sweepLabels('store', 'begun'), [workflowLabel]: 'sweep-begun' });
    const listed = await owners.idle({ 'passband.store': 'store' }, none);
    expect(listed.map(({ labels }) => labels[workflowLabel])).toEqual(
      [...names, 'gated', 'begun'].map((sweep) => `sweep-${sweep}`),
    );
    expect(listed.every(({ name, createdAt }) => isOwner(name) && Date.parse(createdAt) > 0)).toBe(true);
  });

  it('is not listed while a pod of its sweep is there, or for others than its sweep and store', async () => {
    await owners.of(ofTrial('demo'));
    await owners.of(ofTrial('other'));
    const listed = async (wanted: Readonly<Record<string, string>>) =>
      (await owners.idle(wanted, () => Promise.resolve([podOf('demo')]))).map(
        ({ labels }) => labels['passband.sweep'],
      );
    expect(await listed({ 'passband.store': 'store' })).toEqual(['other']);
    expect(await listed(sweepLabels('store', 'demo'))).toEqual([]);
    expect(await listed(sweepLabels('store-b', 'other'))).toEqual([]);
    expect(await listed({ 'passband.generation': 'abc' })).toEqual([]);
  });

  it('is looked for before the pods: one that a pod is made for just then is not idle', async () => {
    const listed = await owners.idle({ 'passband.store': 'store' }, async () => {
      await owners.of(ofTrial('demo'));
      return [];
    });
    expect(listed).toEqual([]);
  });

  it('is not listed while it is being removed', async () => {
    const { name = '' } = (await owners.of(ofTrial('demo'))) ?? {};
    const one = stored.get(name);
    if (one !== undefined) one.deletionTimestamp = '2026-01-01T00:01:00Z';
    expect(await owners.idle({ 'passband.store': 'store' }, none)).toEqual([]);
  });

  it('is removed by its name, by its labels, and once', async () => {
    const { name = '' } = (await owners.of(ofTrial('demo'))) ?? {};
    await owners.of(ofTrial('other'));
    await owners.remove(name);
    await owners.remove(name);
    expect([...stored.values()].map(({ labels }) => labels['passband.sweep'])).toEqual(['other']);
    await owners.removeAll(sweepLabels('store', 'other'));
    expect(stored.size).toBe(0);
  });

  it('has a name that no sandbox has', () => {
    expect(isOwner('pb-0123456789ab-agent')).toBe(false);
  });
});
