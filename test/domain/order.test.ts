// The order of a plan: every trial once, attempt by attempt.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countTrials, trialAt, type PlanShape } from '../../domain/order.ts';

const shapes = fc.record<PlanShape>({
  tasks: fc.integer({ min: 0, max: 6 }),
  attempts: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
  scaffolds: fc.integer({ min: 1, max: 3 }),
});
const all = (shape: PlanShape) =>
  Array.from({ length: countTrials(shape) }, (_, index) => trialAt(shape, index));

describe('trialAt', () => {
  it('C76: gives every (task, model, scaffold, attempt) exactly once', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const names = all(shape).map(({ task, model, scaffold, attempt }) =>
          [task, model, scaffold, attempt].join(),
        );
        const k = shape.attempts.reduce((sum, n) => sum + n, 0);
        expect(new Set(names).size).toBe(shape.tasks * shape.scaffolds * k);
        expect(names).toHaveLength(new Set(names).size);
      }),
    );
  });

  it('cuts evenly: no attempt begins before every task has had the one before it', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const attempts = all(shape).map(({ attempt }) => attempt);
        expect(attempts).toEqual([...attempts].sort((a, b) => a - b));
      }),
    );
  });

  it('gives a model no more attempts than its k', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        for (const { model, attempt } of all(shape)) {
          expect(attempt).toBeLessThanOrEqual(shape.attempts[model] ?? 0);
        }
      }),
    );
  });

  it('knows no position outside the plan', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        expect(() => trialAt(shape, countTrials(shape))).toThrow(RangeError);
        expect(() => trialAt(shape, -1)).toThrow(RangeError);
      }),
    );
  });

  it('finds a trial of 36,144 as fast as any', () => {
    const shape = { tasks: 1_004, attempts: [8, 8, 8, 8, 2, 2], scaffolds: 1 };
    expect(countTrials(shape)).toBe(36_144);
    expect(trialAt(shape, 36_143)).toMatchObject({ task: 1_003, model: 3, attempt: 8 });
  });
});
