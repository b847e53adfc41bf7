// The two policies of the namespace of trials: nothing goes in or out, and the pods that prove it are let through.
import type { V1NetworkPolicySpec } from '@kubernetes/client-node';
import { keys, type Role } from './labels.ts';

/** The label of pods that a survey of egress is made from, and of their peers. No pod of a trial carries it. */
export const canaryLabel: Readonly<Record<string, Role>> = { [keys.role]: 'canary' };

export interface NamedPolicy {
  readonly name: string;
  readonly spec: V1NetworkPolicySpec;
}

/**
 * Policies add up: a pod may do what any one of those that select it allows. So the first selects every pod and allows nothing
 * (a pod whose label is wrong or missing is closed), and the second adds everything for the canary alone.
 * They are permanent: made with the namespace, never by a sweep, so that no pod waits for a policy of its own.
 */
export function networkPolicies(): readonly NamedPolicy[] {
  return [
    { name: 'passband-deny-all', spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] } },
    {
      name: 'passband-canary',
      spec: {
        podSelector: { matchLabels: { ...canaryLabel } },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{}],
        egress: [{}],
      },
    },
  ];
}
