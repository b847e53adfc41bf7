// What must hold of the formulas for every count, and at their edges.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { centralMass } from '../../statistics/central.ts';
import { coverageOf } from '../../statistics/coverage.ts';
import { meanPassAtK, passAtK } from '../../statistics/pass-at-k.ts';
import { wilsonInterval } from '../../statistics/wilson.ts';

const counts = fc
  .integer({ min: 1, max: 400 })
  .chain((n) => fc.tuple(fc.integer({ min: 0, max: n }), fc.constant(n)));

describe('Wilson’s interval', () => {
  it('holds the rate, lies in [0, 1], and mirrors passes and fails', () => {
    fc.assert(
      fc.property(counts, ([passes, n]) => {
        const interval = wilsonInterval(passes, n);
        const mirrored = wilsonInterval(n - passes, n);
        if (interval === null || mirrored === null) return false;
        const { low, high } = interval;
        return (
          low >= 0 &&
          high <= 1 &&
          low <= passes / n &&
          passes / n <= high &&
          Math.abs(low - (1 - mirrored.high)) < 1e-12
        );
      }),
    );
  });

  it('is null where nothing was counted', () => {
    expect(wilsonInterval(0, 0)).toBeNull();
  });
});

describe('p_central', () => {
  it('is the prior’s own mass, a third, where nothing was counted', () => {
    expect(centralMass(0, 0)).toBeCloseTo(1 / 3, 12);
  });

  it('mirrors passes and fails', () => {
    fc.assert(
      fc.property(
        counts,
        ([passes, n]) => Math.abs(centralMass(passes, n) - centralMass(n - passes, n)) < 1e-9,
      ),
    );
  });
});

describe('coverage', () => {
  it('keeps the complete-case rate and the coverage between 0 and 1, and the rate of the plan between its bounds', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('passed', 'failed', 'disputed', 'unstable', 'missing'), { minLength: 1 }),
        (trials) => {
          const of = (what: string): number => trials.filter((trial) => trial === what).length;
          const told = coverageOf({
            planned: trials.length,
            counted: trials.length - of('missing'),
            passes: of('passed'),
            disputed: of('disputed'),
            unstable: of('unstable'),
          });
          expect(told.low).toBe(of('passed') / trials.length);
          expect(told.high).toBeCloseTo(1 - of('failed') / trials.length, 12);
          expect(told.coverage).toBe((trials.length - of('missing')) / trials.length);
        },
      ),
    );
  });

  it('is null where nothing was planned, and has no rate where nothing was counted', () => {
    const nothing = { counted: 0, passes: 0, disputed: 0, unstable: 0 };
    expect(coverageOf({ planned: 0, ...nothing })).toEqual({
      coverage: null,
      rate: null,
      low: null,
      high: null,
    });
    expect(coverageOf({ planned: 4, ...nothing })).toEqual({ coverage: 0, rate: null, low: 0, high: 1 });
  });

  it('refuses more counted than planned, and more results than counted', () => {
    const tally = { planned: 4, counted: 4, passes: 4, disputed: 0, unstable: 0 };
    expect(() => coverageOf({ ...tally, counted: 5 })).toThrow('5 of 4 is not a count');
    expect(() => coverageOf({ ...tally, disputed: 1 })).toThrow('5 of 4 is not a count');
  });
});

describe('pass@k', () => {
  it('is the pass rate at k = 1', () => {
    fc.assert(
      fc.property(counts, ([passes, n]) => Math.abs((passAtK(passes, n, 1) ?? -1) - passes / n) < 1e-9),
    );
  });

  it('C71: averages over the tasks that have it, and says how many have', () => {
    const tasks = [
      { passes: 4, counted: 8 },
      { passes: 0, counted: 8 },
      { passes: 0, counted: 3 },
    ];
    expect(meanPassAtK(tasks, 1)).toEqual({ value: expect.closeTo(0.5 / 3, 12) as unknown, tasks: 3 });
    expect(meanPassAtK(tasks, 8)).toEqual({ value: 0.5, tasks: 2 });
    expect(meanPassAtK(tasks, 9)).toEqual({ value: null, tasks: 0 });
  });

  it.each([0, 1.5, -1])('refuses k = %d', (k) => {
    expect(() => passAtK(1, 2, k)).toThrow('an integer from 1');
  });
});

it.each([
  [-1, 2],
  [3, 2],
  [0.5, 2],
  [0, Number.NaN],
])('a count of %d of %d is refused by every formula', (passes, n) => {
  for (const formula of [wilsonInterval, centralMass])
    expect(() => formula(passes, n)).toThrow('is not a count');
  expect(() => passAtK(passes, n, 1)).toThrow('is not a count');
});
