// The schedule of faults: decided by the seed, of every kind, and bounded in what may overlap.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FaultRule } from '../../../bench/faults/fault.ts';
import { nextFault, scheduleOf, type ScheduledFault } from '../../../bench/faults/schedule.ts';

const rules: readonly FaultRule[] = [
  { name: 'kill', area: 'worker', weight: 4, cost: 1 },
  { name: 'drain', area: 'worker', weight: 2, cost: 1 },
  { name: 'node', area: 'node', weight: 1, cost: 3 },
  { name: 'hang', area: 'model', weight: 5, cost: 1 },
  { name: 'away', area: 'store', weight: 3, cost: 1 },
];
const byName = new Map(rules.map((rule) => [rule.name, rule]));
const kindsOf = (schedule: readonly ScheduledFault[]): string[] => schedule.map(({ kind }) => kind);

describe('scheduleOf', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(scheduleOf(rules, 100, 4)).toEqual(scheduleOf(rules, 100, 4));
    expect(scheduleOf(rules, 100, 4)).not.toEqual(scheduleOf(rules, 100, 5));
  });

  it('begins alike for fewer faults', () => {
    expect(kindsOf(scheduleOf(rules, 200, 9)).slice(0, 30)).toEqual(kindsOf(scheduleOf(rules, 30, 9)));
  });

  it('has as many kinds as it has faults, and every kind where there are enough', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.nat(), (count, seed) => {
        const schedule = scheduleOf(rules, count, seed);
        expect(schedule.map(({ ordinal }) => ordinal)).toEqual(schedule.map((_, at) => at + 1));
        expect(schedule).toHaveLength(count);
        expect(new Set(kindsOf(schedule)).size).toBe(Math.min(count, rules.length));
      }),
    );
  });

  it('has each kind as often as its weight says', () => {
    const drawn = kindsOf(scheduleOf(rules, 5 + 15 * 10, 3)).slice(5);
    for (const { name, weight } of rules) {
      expect(drawn.filter((kind) => kind === name)).toHaveLength(weight * 10);
    }
  });

  it('begins a fault every five to eight seconds at the earliest, on average', () => {
    const gaps = scheduleOf(rules, 400, 8).map(({ afterMs }) => afterMs);
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    expect(mean).toBeGreaterThan(4_500);
    expect(mean).toBeLessThan(5_500);
  });
});

describe('nextFault', () => {
  const waiting = ['kill', 'hang', 'node', 'away'].map((kind, at) => ({ ordinal: at + 1, kind, afterMs: 0 }));
  const next = (...lasting: string[]): string | null =>
    nextFault(
      waiting,
      byName,
      lasting.map((name) => byName.get(name) ?? expect.fail(name)),
    )?.kind ?? null;

  it('is the first one while nothing lasts', () => {
    expect(next()).toBe('kill');
  });

  it('passes over one whose area has a fault already', () => {
    expect(next('drain')).toBe('hang');
    expect(next('drain', 'hang', 'away')).toBeNull();
  });

  it('never lets more overlap than the machine bears', () => {
    expect(next('node', 'kill')).toBeNull();
  });

  it('does not look far ahead', () => {
    const far = Array.from({ length: 20 }, () => ({ ordinal: 1, kind: 'kill', afterMs: 0 }));
    const worker = byName.get('kill') ?? expect.fail('kill');
    expect(nextFault([...far, ...waiting], byName, [worker])).toBeNull();
  });
});
