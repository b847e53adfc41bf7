// When a trial is begun anew: by the table, a few times, after waits that grow.
import { describe, expect, test } from 'vitest';
import { fullJitterMs, generationBackoff, unitOf } from '../../domain/backoff.ts';
import { failureClasses, failureTable } from '../../domain/failures.ts';
import { maxGenerations, waitBeforeNextMs } from '../../workflows/generations.ts';

describe('the next generation', () => {
  test.each(failureClasses)('comes after %s exactly where the failure table retries generations', (name) => {
    const wait = waitBeforeNextMs(name, 1, 's/0');
    expect(wait !== null).toBe(failureTable[name].retry === 'generation');
  });

  test('has a budget of its own', () => {
    expect(waitBeforeNextMs('SandboxLost', maxGenerations - 1, 's/0')).not.toBeNull();
    expect(waitBeforeNextMs('SandboxLost', maxGenerations, 's/0')).toBeNull();
  });

  test('C36: waits grow with the tries, and trials that failed together do not come back together', () => {
    const waits = (tries: number): number[] =>
      Array.from({ length: 200 }, (_, index) => waitBeforeNextMs('SandboxLost', tries, `s/${index}`) ?? 0);
    const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
    const means = [1, 2, 3, 4].map((tries) => mean(waits(tries)));
    expect(means).toEqual([...means].sort((a, b) => a - b));
    expect(new Set(waits(3)).size).toBeGreaterThan(180);
    expect(Math.max(...waits(1))).toBeLessThanOrEqual(generationBackoff.baseMs);
  });

  test('jitter derives from the name and spreads evenly', () => {
    expect(unitOf('s/1/1')).toBe(unitOf('s/1/1'));
    const units = Array.from({ length: 4_000 }, (_, index) => unitOf(`sweep/${index}/1`));
    const tenths = new Array<number>(10).fill(0);
    for (const unit of units) {
      const at = Math.floor(unit * 10);
      tenths[at] = (tenths[at] ?? 0) + 1;
    }
    // 400 each on average, with a standard deviation of 19.
    for (const count of tenths) expect(Math.abs(count - 400)).toBeLessThan(95);
  });

  test('no wait is shorter than the floor or longer than the cap', () => {
    expect(fullJitterMs(generationBackoff, 1, 0)).toBe(generationBackoff.floorMs);
    expect(fullJitterMs(generationBackoff, 1_000, 0.999)).toBeLessThanOrEqual(generationBackoff.capMs);
  });
});
