// The policies of the namespace of trials, applied to pods as Kubernetes adds them up.
import type { V1NetworkPolicySpec } from '@kubernetes/client-node';
import { describe, expect, test } from 'vitest';
import { canaryLabel, networkPolicies } from '../../k8s/network-policy.ts';

type Labels = Readonly<Record<string, string>>;

const selects = (spec: V1NetworkPolicySpec, labels: Labels): boolean =>
  Object.entries(spec.podSelector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value);

/** Closed unless no policy of the direction selects the pod, or one that does has a rule for everything. */
function open(labels: Labels, direction: 'Ingress' | 'Egress'): boolean {
  const selecting = networkPolicies()
    .map(({ spec }) => spec)
    .filter((spec) => spec.policyTypes?.includes(direction) === true && selects(spec, labels));
  const rules = selecting.flatMap((spec) => (direction === 'Ingress' ? spec.ingress : spec.egress) ?? []);
  return selecting.length === 0 || rules.some((rule) => Object.keys(rule).length === 0);
}

describe('network policies', () => {
  test.each([
    ['without labels', {}],
    ["of a trial's phase", { 'passband.role': 'trial', 'passband.sweep': 'first' }],
    ['whose label is misspelt', { 'passband.role': 'Canary' }],
  ])('C49, C51: a pod %s neither sends nor receives', (_, labels: Labels) => {
    expect(open(labels, 'Egress')).toBe(false);
    expect(open(labels, 'Ingress')).toBe(false);
  });

  test('a canary sends and receives', () => {
    expect(open(canaryLabel, 'Egress')).toBe(true);
    expect(open(canaryLabel, 'Ingress')).toBe(true);
  });

  test('each policy has a name of its own, and names both directions', () => {
    const policies = networkPolicies();
    expect(new Set(policies.map(({ name }) => name)).size).toBe(policies.length);
    for (const { spec } of policies) expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
  });
});
