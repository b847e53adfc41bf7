// Calibration: whether each verdict on a known-rate model is what the model meant, and whether the rates agree.
import type { Result } from '../domain/failures.ts';
import { binomialTest } from './binomial.ts';
import { intentOf, rateOf } from './known-rate/intent.ts';

/** A planned trial of a known-rate model, with its verdict's result and reward; null where it has no verdict. */
export interface CalibrationRow {
  /** The task's slug. */
  readonly task: string;
  readonly model: string;
  readonly scaffold: string;
  readonly attempt: number;
  readonly verdict: { readonly result: Result; readonly reward: number | null } | null;
}

interface Disagreement {
  readonly task: string;
  readonly model: string;
  readonly scaffold: string;
  readonly attempt: number;
  readonly meant: 'pass' | 'fail';
  readonly result: Result;
  readonly reward: number | null;
}

interface ModelCalibration {
  readonly model: string;
  readonly scaffold: string;
  /** The rate in its name. */
  readonly rate: number;
  readonly counted: number;
  /** Of the counted trials, those that were meant to pass, and those that passed. */
  readonly meant: number;
  readonly passed: number;
  /** passed / counted, null where nothing is counted. */
  readonly passRate: number | null;
  /** Of the exact two-sided binomial test of passed among counted against the rate. */
  readonly pValue: number;
}

export interface Calibration {
  readonly agree: number;
  readonly disagree: readonly Disagreement[];
  /** Planned trials without a verdict: they neither agree nor disagree. */
  readonly missing: readonly Pick<CalibrationRow, 'task' | 'model' | 'scaffold' | 'attempt'>[];
  /** One for each model under each scaffold: what a model means is the same under all of them, so they are no draws of their own. */
  readonly perModel: readonly ModelCalibration[];
  /** Something was counted, nothing disagrees, and no model's p-value is below the gate. */
  readonly ok: boolean;
}

/** Below it a model's rate is taken as wrong. */
const pValueGate = 0.001;

/**
 * Compares verdict by verdict with the intents of a seed.
 * @throws RangeError where a row's model is not a known-rate model.
 */
export function calibrate(rows: readonly CalibrationRow[], seed: number): Calibration {
  const counted = rows.flatMap((row) => {
    if (row.verdict === null) return [];
    const { solve } = intentOf(seed, row.model, row.task, row.attempt);
    return [{ ...row, ...row.verdict, solve, passed: row.verdict.result === 'passed' }];
  });
  const disagree = counted
    .filter(({ solve, passed }) => solve !== passed)
    .map(({ task, model, scaffold, attempt, solve, result, reward }): Disagreement => {
      return { task, model, scaffold, attempt, meant: solve ? 'pass' : 'fail', result, reward };
    });
  const cells = new Map(rows.map(({ model, scaffold }) => [`${model} ${scaffold}`, { model, scaffold }]));
  const perModel = [...cells.keys()].sort().flatMap((key): ModelCalibration[] => {
    const cell = cells.get(key);
    return cell === undefined ? [] : [cellCalibration(cell, counted)];
  });
  return {
    agree: counted.length - disagree.length,
    disagree,
    missing: rows
      .filter(({ verdict }) => verdict === null)
      .map(({ task, model, scaffold, attempt }) => ({ task, model, scaffold, attempt })),
    perModel,
    ok: counted.length > 0 && disagree.length === 0 && perModel.every(({ pValue }) => pValue >= pValueGate),
  };
}

interface Counted extends CalibrationRow {
  readonly solve: boolean;
  readonly passed: boolean;
}

function cellCalibration(
  { model, scaffold }: Pick<CalibrationRow, 'model' | 'scaffold'>,
  counted: readonly Counted[],
): ModelCalibration {
  const own = counted.filter((row) => row.model === model && row.scaffold === scaffold);
  const passed = own.filter((row) => row.passed).length;
  const rate = rateOf(model);
  if (rate === null) throw new RangeError(`${model} is not a known-rate model`);
  return {
    model,
    scaffold,
    rate,
    counted: own.length,
    meant: own.filter(({ solve }) => solve).length,
    passed,
    passRate: own.length === 0 ? null : passed / own.length,
    pValue: binomialTest(passed, own.length, rate),
  };
}
