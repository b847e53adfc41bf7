// The funnel of an audit: where each task was lost, and why.
import { expect, it } from 'vitest';
import { auditCommand, formatFunnel, funnelOf } from '../../cli/audit.ts';
import type { RejectionReason } from '../../domain/failures.ts';
import type { GateRecord } from '../../domain/gate.ts';
import type { Plan } from '../../domain/sweep.ts';

const outcomes: Readonly<Record<string, RejectionReason | 'kept' | 'unaudited' | 'unformed'>> = {
  good: 'kept',
  bare: 'unaudited',
  broken: 'build-fails',
  wrong: 'oracle-fails',
  online: 'unsolvable-offline',
  easy: 'nop-passes',
  compose: 'unsupported',
  lost: 'unformed',
};

const plan = {
  tasks: Object.keys(outcomes).map((id) => ({ id, gateKey: id, slug: id })),
  rejected: [
    { task: 'torn', file: 'torn/task.toml', key: null, line: 3, reason: 'invalid', message: 'is not TOML' },
  ],
} as unknown as Plan;

const gates = new Map(
  Object.entries(outcomes).flatMap(([id, outcome]): [string, GateRecord][] => {
    if (outcome === 'unformed') return [];
    const kept = outcome === 'kept' || outcome === 'unaudited';
    const record = {
      outcome: kept ? outcome : 'rejected',
      reason: kept ? null : outcome,
      message: `why ${id}`,
    };
    return [[id, record as GateRecord]];
  }),
);

it('counts each stage, and gives a reason for each task lost', () => {
  const funnel = funnelOf(plan, gates);
  // compose is lost at reading; lost was read, and no more is known of it.
  expect(funnel).toMatchObject({
    read: 7,
    built: 5,
    oraclePasses: 2,
    nopFails: 2,
    kept: 2,
    unformed: ['lost'],
  });
  expect(funnel.lost.map(({ task, reason }) => [task, reason])).toEqual([
    ['torn', 'invalid'],
    ['broken', 'build-fails'],
    ['wrong', 'oracle-fails'],
    ['online', 'unsolvable-offline'],
    ['easy', 'nop-passes'],
    ['compose', 'unsupported'],
  ]);
});

it('prints a line a task', () => {
  const text = formatFunnel(funnelOf(plan, gates));
  expect(text).toContain('lost: wrong: oracle-fails: why wrong');
  expect(text).toContain('not audited: lost: its gate could not be formed; run this again');
});

it('takes the network that a sweep would give', () => {
  const network = auditCommand().options.find(({ long }) => long === '--network');
  expect(network?.argChoices).toEqual(['deny', 'as-declared']);
});
