// passband calibrate SWEEP: whether each verdict on a known-rate model is what the model meant, and the rates agree.
import { Command } from 'commander';
import { InputError } from '../domain/errors.ts';
import { calibrate, type Calibration } from '../instruments/calibrate.ts';
import { rateOf } from '../instruments/known-rate/intent.ts';
import { scaffoldNamed } from '../scaffolds/index.ts';
import type { Store } from '../store/port.ts';
import { readSweepSettings } from '../store/settings.ts';
import { readPlan } from '../store/verdicts.ts';
import { rateText } from './numbers.ts';
import { exitCodes, formatTable, printJson, printLine } from './output.ts';
import { readTrials } from './results.ts';
import { coverageIn } from './summary.ts';
import { readStore, withStore, type StoreOption } from './store-option.ts';

export const defaultSeed = 7;

/** Reads a seed: a whole number from 0. */
export function seedOf(value: string): number {
  const seed = Number(value);
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(seed))
    throw new InputError(`--seed ${value}: it takes a whole number`);
  return seed;
}

/** Compares a sweep's verdicts on known-rate models with what they meant. @throws InputError where it has none. */
export async function calibrateSweep(
  store: Store,
  sweep: string,
  given: number | null,
): Promise<Calibration> {
  const settings = await readSweepSettings(store, sweep);
  const seed = given ?? settings?.seed ?? defaultSeed;
  const trials = await readTrials(store, await readPlan(store, sweep));
  const known = trials.filter(
    ({ trial }) => rateOf(trial.model.name) !== null && scaffoldNamed(trial.scaffold.name).needsModel,
  );
  if (known.length === 0) {
    throw new InputError(
      `sweep ${sweep} has no trial of a known-rate model under a scaffold that asks one: there is nothing to calibrate against`,
    );
  }
  return calibrate(
    known.map(({ trial, verdict }) => ({
      task: trial.task.slug,
      model: trial.model.name,
      scaffold: trial.scaffold.name,
      attempt: trial.attempt,
      verdict: verdict === null ? null : { result: verdict.result, reward: verdict.reward },
    })),
    seed,
  );
}

interface CalibrationReport extends Calibration {
  readonly planned: number;
  readonly counted: number;
  /** counted / planned: of what is missing nothing is said. */
  readonly coverage: number;
  /** In one line, where it is not ok. */
  readonly why: string | null;
}

/** A comparison as `--json` prints it: `ok` is over what is counted, and `coverage` says how much that is. */
export function calibrationReport(calibration: Calibration): CalibrationReport {
  const { agree, disagree, missing, ok } = calibration;
  const counted = agree + disagree.length;
  const planned = counted + missing.length;
  const why = ok ? null : reasonOf(calibration, counted);
  return { ...calibration, planned, counted, coverage: coverageIn({ planned, counted }), why };
}

function reasonOf({ disagree, perModel }: Calibration, counted: number): string {
  if (counted === 0) return 'nothing is counted, so nothing is shown';
  if (disagree.length > 0) {
    const which = disagree.length === 1 ? '1 verdict is' : `${disagree.length} verdicts are`;
    return `${which} not what its model meant: what grades it moved it, or the models had another seed (--seed)`;
  }
  const [far] = perModel.toSorted((a, b) => a.pValue - b.pValue);
  return far === undefined
    ? 'no model is compared'
    : `${far.model} under ${far.scaffold} passed ${far.passed} of ${far.counted}, further from ${rateText(far.rate)} than chance explains (p < 0.001), though each is what was meant: which trials are counted is no matter of chance`;
}

export function formatCalibration(calibration: Calibration): string {
  const { agree, disagree, missing, perModel, planned, counted, coverage, why } =
    calibrationReport(calibration);
  const table = formatTable(
    ['model', 'scaffold', 'known rate', 'counted', 'meant to pass', 'passed', 'rate', 'p'],
    perModel.map((model) => [
      model.model,
      model.scaffold,
      rateText(model.rate),
      model.counted,
      model.meant,
      model.passed,
      rateText(model.passRate),
      model.pValue.toFixed(3),
    ]),
  );
  const unsaid = missing.length === 0 ? '' : ' (nothing is said of those that are missing)';
  return [
    table,
    ...disagree.map(
      (row) =>
        `disagrees: ${row.task} ${row.model} attempt ${row.attempt}: meant to ${row.meant}, is ${row.result} (reward ${row.reward ?? 'none'})`,
    ),
    `calibration: ${agree} verdicts are what their model meant, ${disagree.length} are not; ${missing.length} of ${planned} planned trials are missing (coverage ${coverage.toFixed(3)})`,
    `verdict over the ${counted} counted: ${why === null ? `ok${unsaid}` : `NOT ok: ${why}`}`,
  ].join('\n');
}

export function calibrateCommand(): Command {
  return withStore(new Command('calibrate'))
    .description('compare the verdicts on known-rate models with what they meant, verdict by verdict')
    .argument('<sweep>', 'the name of a sweep with known-rate models')
    .option(
      '--seed <n>',
      'the seed that the models were started with (default: as the sweep was started)',
      seedOf,
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      [
        '',
        'A known-rate model means to solve a task with the probability in its name; what it means for each attempt follows',
        'from the seed. Trials without a verdict are missing: they neither agree nor disagree, and the coverage says how many.',
        '',
        'Exits 0 where something is counted, every verdict is what was meant and no rate differs at p < 0.001, else 1.',
      ].join('\n'),
    )
    .action(
      async (sweep: string, options: StoreOption & { readonly seed?: number; readonly json?: boolean }) => {
        const calibration = await readStore(
          options,
          async (store) => await calibrateSweep(store, sweep, options.seed ?? null),
        );
        if (options.json === true) printJson(calibrationReport(calibration));
        else printLine(formatCalibration(calibration));
        if (!calibration.ok) process.exitCode = exitCodes.disagrees;
      },
    );
}
