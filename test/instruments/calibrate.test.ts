// Calibration: verdict by verdict against the intents, and the exact binomial test beside.
import { describe, expect, it } from 'vitest';
import { binomialTest } from '../../instruments/binomial.ts';
import { calibrate, type CalibrationRow } from '../../instruments/calibrate.ts';
import { intentOf } from '../../instruments/known-rate/intent.ts';

const seed = 5;

/** Rows whose verdicts are what was meant, for `tasks` tasks and 8 attempts. */
function meant(model: string, tasks: number): CalibrationRow[] {
  return Array.from({ length: tasks * 8 }, (_, at) => {
    const place = { task: `t${Math.floor(at / 8)}`, model, scaffold: 'terminus-2', attempt: (at % 8) + 1 };
    const { solve } = intentOf(seed, model, place.task, place.attempt);
    return { ...place, verdict: solve ? { result: 'passed', reward: 1 } : { result: 'failed', reward: 0 } };
  });
}

describe('binomialTest', () => {
  // Exact rational arithmetic; SciPy's binomtest and R's binom.test give the same.
  it.each([
    [44, 72, 0.5, 0.07636915467183139],
    [3, 72, 0.1, 0.1150903001313363],
    [62, 72, 0.9, 0.24201985023827477],
    [0, 8, 0.5, 0.0078125],
    [4, 8, 0.5, 1],
    [60, 64, 0.5, 7.363044635805283e-14],
    [7, 64, 0.1, 0.8336670228079321],
    [250, 1000, 0.3, 0.00048755565676408797],
  ])('of %d in %d at %d is %d', (x, n, p, expected) => {
    expect(binomialTest(x, n, p)).toBeCloseTo(expected, 9);
  });

  it('knows the certain rates, and says 1 of nothing', () => {
    expect([binomialTest(0, 9, 0), binomialTest(1, 9, 0)]).toEqual([1, 0]);
    expect([binomialTest(9, 9, 1), binomialTest(8, 9, 1)]).toEqual([1, 0]);
    expect(binomialTest(0, 0, 0.5)).toBe(1);
  });
});

describe('calibrate', () => {
  it('agrees where every verdict is what was meant', () => {
    const rows = [...meant('known-rate-0.1', 9), ...meant('known-rate-0.9', 9)];
    const found = calibrate(rows, seed);
    expect(found).toMatchObject({ ok: true, agree: 144, disagree: [], missing: [] });
    expect(found.perModel.map(({ model, rate, counted }) => [model, rate, counted])).toEqual([
      ['known-rate-0.1', 0.1, 72],
      ['known-rate-0.9', 0.9, 72],
    ]);
    expect(found.perModel.every(({ meant: m, passed }) => m === passed)).toBe(true);
  });

  it('holds each scaffold’s passes against the rate by itself: under all of them the draw is the same', () => {
    const own = meant('known-rate-0.5', 9);
    const rows = [...own, ...own.map((row) => ({ ...row, scaffold: 'bash' }))];
    const found = calibrate(rows, seed);
    expect(found.perModel.map(({ scaffold, counted }) => [scaffold, counted])).toEqual([
      ['bash', 72],
      ['terminus-2', 72],
    ]);
    const [once] = calibrate(own, seed).perModel;
    expect(found.perModel.map(({ pValue }) => pValue)).toEqual([once?.pValue, once?.pValue]);
  });

  it('does not depend on the order of the verdicts', () => {
    const rows = [...meant('known-rate-0.5', 6), ...meant('known-rate-0.1', 6)];
    expect(calibrate(rows.toReversed(), seed)).toEqual(calibrate(rows, seed));
  });

  it('names a single verdict that is not what was meant, and fails for it', () => {
    const rows = meant('known-rate-0.5', 9).map((row, at): CalibrationRow => {
      if (at !== 17) return row;
      const { solve } = intentOf(seed, row.model, row.task, row.attempt);
      return { ...row, verdict: { result: solve ? 'disputed' : 'passed', reward: 1 } };
    });
    const found = calibrate(rows, seed);
    expect(found).toMatchObject({ ok: false, agree: 71 });
    expect(found.disagree).toMatchObject([{ task: 't2', model: 'known-rate-0.5', attempt: 2, reward: 1 }]);
  });

  it('holds disputed and unstable for no pass', () => {
    const rows = meant('known-rate-0', 1).map((row, at): CalibrationRow => ({
      ...row,
      verdict: { result: at % 2 === 0 ? 'disputed' : 'unstable', reward: 1 },
    }));
    expect(calibrate(rows, seed)).toMatchObject({ ok: true, agree: 8 });
  });

  it('counts a trial without a verdict neither way, and names it', () => {
    const rows = meant('known-rate-0.5', 9).map((row, at) => (at === 3 ? { ...row, verdict: null } : row));
    const found = calibrate(rows, seed);
    expect(found).toMatchObject({ ok: true, agree: 71 });
    expect(found.missing).toEqual([
      { task: 't0', model: 'known-rate-0.5', scaffold: 'terminus-2', attempt: 4 },
    ]);
  });

  it('is not content with nothing', () => {
    expect(calibrate([], seed).ok).toBe(false);
    const uncounted = meant('known-rate-0.5', 1).map((row) => ({ ...row, verdict: null }));
    expect(calibrate(uncounted, seed)).toMatchObject({ ok: false, agree: 0 });
    expect(calibrate(uncounted, seed).perModel[0]).toMatchObject({ counted: 0, passRate: null });
  });

  it('fails a rate that chance does not explain', () => {
    const failedAll = Array.from({ length: 64 }, (_, at) => at + 1)
      .map((attempt) => ({ task: 'one', model: 'known-rate-0.5', scaffold: 's', attempt }))
      .filter(({ model, task, attempt }) => !intentOf(seed, model, task, attempt).solve)
      .map((row): CalibrationRow => ({ ...row, verdict: { result: 'failed', reward: 0 } }));
    expect(calibrate(failedAll, seed)).toMatchObject({ ok: false, disagree: [] });
  });
});
