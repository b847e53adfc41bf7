// What a known-rate model means to do: honest rates, the same for every generation, and a way of failing that a task has.
import { describe, expect, it } from 'vitest';
import { binomialTest } from '../../instruments/binomial.ts';
import {
  failingWays,
  failurePlanOf,
  intentOf,
  limitWays,
  rateOf,
} from '../../instruments/known-rate/intent.ts';
import { nearTask, plainTask, stepsTask } from './known-data.ts';

const attempts = (n: number) => Array.from({ length: n }, (_, at) => at + 1);

describe('rateOf', () => {
  it('reads the rate from a known-rate model’s name, and from no other name', () => {
    expect(['0', '0.1', '0.5', '1', '1.0'].map((p) => rateOf(`known-rate-${p}`))).toEqual([
      0, 0.1, 0.5, 1, 1,
    ]);
    for (const name of ['known-rate-', 'known-rate-1.1', 'known-rate-x', 'my-known-rate-0.5', 'gpt', '']) {
      expect(rateOf(name)).toBeNull();
    }
  });
});

describe('intentOf', () => {
  it.each([0.1, 0.5, 0.9])('solves at the rate of the name: %d', (rate) => {
    const solved = attempts(4000).filter((n) => intentOf(3, `known-rate-${rate}`, 'a', n).solve).length;
    expect(binomialTest(solved, 4000, rate)).toBeGreaterThan(0.001);
  });

  it('spreads the solves of 8 attempts as independent draws do', () => {
    const passes = attempts(2000).map(
      (task) => attempts(8).filter((n) => intentOf(1, 'known-rate-0.5', `t${task}`, n).solve).length,
    );
    const mean = passes.reduce((sum, n) => sum + n, 0) / passes.length;
    const variance = passes.reduce((sum, n) => sum + (n - mean) ** 2, 0) / (passes.length - 1);
    expect(variance).toBeGreaterThan(1.8);
    expect(variance).toBeLessThan(2.2);
  });

  it('always solves at rate 1 and never at rate 0', () => {
    expect(attempts(500).every((n) => intentOf(1, 'known-rate-1', 'a', n).solve)).toBe(true);
    expect(attempts(500).some((n) => intentOf(1, 'known-rate-0', 'a', n).solve)).toBe(false);
  });

  it('depends on seed, model, task and attempt, each of them', () => {
    const draw = (seed: number, model: string, task: string, attempt: number): number =>
      intentOf(seed, model, task, attempt).wayDraw;
    const draws = [
      draw(1, 'known-rate-0.5', 'a', 1),
      draw(2, 'known-rate-0.5', 'a', 1),
      draw(1, 'known-rate-0.50', 'a', 1),
      draw(1, 'known-rate-0.5', 'b', 1),
      draw(1, 'known-rate-0.5', 'a', 2),
    ];
    expect(new Set(draws).size).toBe(5);
    expect(draw(1, 'known-rate-0.5', 'a', 1)).toBe(draws[0]);
  });

  it('refuses a model without a known rate', () => {
    expect(() => intentOf(1, 'llama', 'a', 1)).toThrow('not a known-rate model');
  });
});

describe('failurePlanOf', () => {
  const waysIn = (task: typeof plainTask): Set<string | undefined> =>
    new Set(attempts(400).map((n) => failurePlanOf(intentOf(1, 'known-rate-0', task.slug, n), task)?.way));

  it('uses every way of failing, one assertion only where the task says how', () => {
    expect(waysIn(nearTask)).toEqual(new Set(failingWays));
    expect(waysIn(plainTask)).toEqual(new Set(failingWays.filter((way) => way !== 'one-assertion')));
  });

  it('fails at any of several steps', () => {
    const steps = attempts(200).map(
      (n) => failurePlanOf(intentOf(1, 'known-rate-0', 's', n), stepsTask)?.step,
    );
    expect(new Set(steps)).toEqual(new Set([0, 1, 2]));
  });

  it('plans no failure where the intent is to solve, whatever way is chosen', () => {
    const intent = intentOf(1, 'known-rate-1', 'near', 1);
    expect(failurePlanOf(intent, nearTask)).toBeNull();
    expect(failurePlanOf(intent, nearTask, 'eats-memory')).toBeNull();
  });

  it.each(limitWays)('takes a way that is chosen for it, which no intent draws: %s', (way) => {
    expect(failurePlanOf(intentOf(1, 'known-rate-0', 'near', 3), nearTask, way)?.way).toBe(way);
    expect(waysIn(nearTask)).not.toContain(way);
  });
});
