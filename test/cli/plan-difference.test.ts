// How two plans of one name differ.
import { expect, it } from 'vitest';
import { differences } from '../../cli/plan-difference.ts';
import type { Plan } from '../../domain/sweep.ts';

const plan: Plan = {
  format: 'passband.plan',
  version: 1,
  sweep: 's',
  tasks: [],
  models: [
    {
      name: 'm',
      slug: 'm',
      revision: 'r1',
      sampling: {},
      digest: 'a'.repeat(64),
      attempts: 8,
      nominalTokensPerSecond: null,
    },
  ],
  scaffolds: [{ name: 'terminus-2', slug: 'terminus-2', version: '1', options: {}, digest: 'b'.repeat(64) }],
  rejected: [],
  driver: 'engine',
  network: 'deny',
  clock: 'charged',
  unaudited: false,
  rewardKey: null,
  offlineBuild: false,
};

it('is empty for the same plan', () => {
  expect(differences(plan, structuredClone(plan))).toEqual([]);
});

it('names what differs, with both values', () => {
  const [model] = plan.models;
  if (model === undefined) throw new Error('the plan has a model');
  const other: Plan = {
    ...plan,
    network: 'as-declared',
    models: [
      { ...model, attempts: 4 },
      { ...model, name: 'n', slug: 'n' },
    ],
  };
  const found = differences(plan, other);
  expect(found).toContain('model m: attempts: 8 in the plan, 4 now');
  expect(found).toContain('network: "deny" in the plan, "as-declared" now');
  expect(found).toContain('model n: revision: not there in the plan, "r1" now');
});
