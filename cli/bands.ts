// passband bands SWEEP...: labels, intervals and coverage, recomputed from the verdicts as they are now.
import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { InputError } from '../domain/errors.ts';
import type { Store } from '../store/port.ts';
import { readSweepSettings } from '../store/settings.ts';
import type { Label } from '../statistics/labels.ts';
import { rateText } from './numbers.ts';
import { formatTable, note, printJson, printLine } from './output.ts';
import { readBands, type SweepBands } from './results.ts';
import { readSplits } from './splits.ts';
import { coverageIn } from './summary.ts';
import { readStore, withStore, type StoreOption } from './store-option.ts';

interface BandsOptions extends StoreOption {
  readonly json?: boolean;
  readonly out?: string;
  readonly splits?: string;
}

export type SweepLabel = Label & { readonly sweep: string };

/** An interval as people read it; `n/a` where nothing was counted. */
const rangeText = (low: number | null, high: number | null): string =>
  low === null || high === null ? 'n/a' : `${rateText(low)}–${rateText(high)}`;

/** Labels as a table for people; `knownRate` adds a column where a model's true rate is known. */
export function formatLabels(labels: readonly Label[], knownRate?: (model: string) => number | null): string {
  const head = [
    'task',
    'model',
    'scaffold',
    'band',
    'rate',
    '95% interval',
    'passes',
    'counted',
    'bounds',
    'disputed',
  ];
  return formatTable(
    knownRate === undefined ? head : [...head.slice(0, 5), 'known', ...head.slice(5)],
    labels.map((label) => {
      const row = [
        label.task,
        label.model,
        label.scaffold,
        label.band,
        rateText(label.pass_rate),
        rangeText(label.ci_low, label.ci_high),
        String(label.passes),
        `${label.n_counted}/${label.k}`,
        rangeText(label.low, label.high),
        String(label.disputed),
      ];
      return knownRate === undefined
        ? row
        : [...row.slice(0, 5), rateText(knownRate(label.model)), ...row.slice(5)];
    }),
  );
}

const bandsHelp = `
The band of a task, by the passes among its counted trials (whole numbers: no rounding moves it):
  never       none
  hard        some, fewer than 1/4
  central     1/4 to 3/4, both included
  easy        more than 3/4, not all
  always      all
  unmeasured  nothing is counted`;

/** What a table of labels does not show: how much of the sweep it is, and which tasks have none. */
export function formatCoverage(
  sweep: string,
  { planned, counted, rejected }: Omit<SweepBands, 'labels'>,
): string {
  const lines = [
    `sweep ${sweep}: ${counted} of ${planned} planned trials counted (coverage ${coverageIn({ planned, counted }).toFixed(3)})`,
  ];
  if (rejected.length > 0) {
    const which = rejected.map(({ task, reason }) => `${task} (${reason})`).join(', ');
    lines.push(`sweep ${sweep}: no label for ${rejected.length} rejected: ${which}`);
  }
  return lines.join('\n');
}

/** @throws InputError where the file cannot be written */
async function writeLabels(file: string, lines: string): Promise<void> {
  await writeFile(file, lines).catch((error: unknown) => {
    throw new InputError(
      `--out ${file}: cannot be written (${error instanceof Error ? error.message : String(error)})`,
    );
  });
}

/** The splits of a file, else those that the sweep was started with. */
export async function splitsOf(
  store: Store,
  sweep: string,
  file: string | undefined,
): Promise<ReadonlyMap<string, string>> {
  if (file !== undefined) return await readSplits(file);
  const settings = await readSweepSettings(store, sweep);
  return new Map(Object.entries(settings?.splits ?? {}));
}

export function bandsCommand(): Command {
  return withStore(new Command('bands'))
    .description('labels, intervals and coverage of sweeps, recomputed from their verdicts')
    .argument('<sweep...>', 'names of sweeps')
    .option('--out <file>', 'write labels.jsonl: one label a line')
    .option(
      '--splits <file>',
      'rows of (task, split), as CSV or JSONL (default: those of the sweep’s start); a task without one is unseen',
    )
    .option('--json', 'print one JSON document')
    .addHelpText('after', bandsHelp)
    .action(async (sweeps: string[], options: BandsOptions) => {
      const read = await readStore(options, async (store) => {
        const all: (SweepBands & { readonly sweep: string })[] = [];
        for (const sweep of new Set(sweeps)) {
          all.push({
            sweep,
            ...(await readBands(store, sweep, await splitsOf(store, sweep, options.splits))),
          });
        }
        return all;
      });
      const labels: SweepLabel[] = read.flatMap(({ sweep, labels: own }) =>
        own.map((label) => ({ sweep, ...label })),
      );
      for (const { sweep, ...bands } of read) note(formatCoverage(sweep, bands));
      if (options.out !== undefined) {
        // The file's fields are those that its readers know: the sweep is named only where there are several.
        const rows = sweeps.length > 1 ? labels : labels.map((label) => ({ ...label, sweep: undefined }));
        await writeLabels(options.out, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
        note(`${rows.length} labels written to ${options.out}`);
      }
      if (options.json === true) printJson(labels);
      else printLine(formatLabels(labels));
    });
}
