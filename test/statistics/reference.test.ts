// The closed forms against values of SciPy and statsmodels (test/fixtures/statistics-reference.json), to 1e-9.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { centralMass } from '../../statistics/central.ts';
import { coverageOf } from '../../statistics/coverage.ts';
import { passAtK } from '../../statistics/pass-at-k.ts';
import { wilsonInterval } from '../../statistics/wilson.ts';

const count = z.int().min(0);
const reference = z
  .object({
    wilson: z.array(z.object({ passes: count, n: count, low: z.number(), high: z.number() })).min(6),
    p_central: z.array(z.object({ passes: count, n: count, p: z.number() })).min(8),
    pass_at_k: z.array(z.object({ n: count, c: count, k: count, value: z.number().nullable() })).min(7),
    coverage_bounds: z.object({
      planned: count,
      passes: count,
      missing: count,
      low: z.number(),
      high: z.number(),
      complete_case: z.number(),
    }),
  })
  .parse(
    JSON.parse(readFileSync(path.join(import.meta.dirname, '../fixtures/statistics-reference.json'), 'utf8')),
  );

const tolerance = 1e-9;
function expectClose(actual: number | null | undefined, expected: number): void {
  expect(actual).toBeTypeOf('number');
  expect(Math.abs((actual ?? Number.NaN) - expected)).toBeLessThan(tolerance);
}

describe('reference values', () => {
  it.each(reference.wilson)('Wilson’s interval of $passes of $n', ({ passes, n, low, high }) => {
    const interval = wilsonInterval(passes, n);
    expectClose(interval?.low, low);
    expectClose(interval?.high, high);
  });

  it.each(reference.p_central)('p_central of $passes of $n', ({ passes, n, p }) => {
    expectClose(centralMass(passes, n), p);
  });

  it.each(reference.pass_at_k)('C71: pass@$k of $c of $n', ({ n, c, k, value }) => {
    if (value === null) expect(passAtK(c, n, k)).toBeNull();
    else expectClose(passAtK(c, n, k), value);
  });

  it('C73: coverage, complete-case rate and both bounds of 445 planned, 405 counted', () => {
    const { planned, passes, missing, low, high, complete_case } = reference.coverage_bounds;
    const counted = planned - missing;
    const told = coverageOf({ planned, counted, passes, disputed: 0, unstable: 0 });
    expectClose(told.rate, complete_case);
    expectClose(told.low, low);
    expectClose(told.high, high);
    expectClose(told.coverage, 405 / 445);
  });
});
