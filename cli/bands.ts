// passband bands SWEEP...: labels, intervals and coverage, recomputed from the verdicts as they are now.
import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import type { Label } from '../statistics/labels.ts';
import { rateText } from './numbers.ts';
import { formatTable, note, printJson, printLine } from './output.ts';
import { readLabels } from './results.ts';
import { readSplits } from './splits.ts';
import { useStore, withStore, type StoreOption } from './store-option.ts';

interface BandsOptions extends StoreOption {
  readonly json?: boolean;
  readonly out?: string;
  readonly splits?: string;
}

export type SweepLabel = Label & { readonly sweep: string };

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
        `${rateText(label.ci_low)}–${rateText(label.ci_high)}`,
        String(label.passes),
        `${label.n_counted}/${label.k}`,
        `${rateText(label.low)}–${rateText(label.high)}`,
        String(label.disputed),
      ];
      return knownRate === undefined
        ? row
        : [...row.slice(0, 5), rateText(knownRate(label.model)), ...row.slice(5)];
    }),
  );
}

export function bandsCommand(): Command {
  return withStore(new Command('bands'))
    .description('labels, intervals and coverage of sweeps, recomputed from their verdicts')
    .argument('<sweep...>', 'names of sweeps')
    .option('--out <file>', 'write labels.jsonl: one label a line')
    .option('--splits <file>', 'rows of (task, split), as CSV or JSONL; a task without one is unseen')
    .option('--json', 'print one JSON document')
    .action(async (sweeps: string[], options: BandsOptions) => {
      const splits = await readSplits(options.splits);
      const labels = await useStore(options, async (store) => {
        const all: SweepLabel[] = [];
        for (const sweep of new Set(sweeps)) {
          for (const label of await readLabels(store, sweep, splits)) all.push({ sweep, ...label });
        }
        return all;
      });
      if (options.out !== undefined) {
        // The file's fields are those that its readers know: the sweep is named only where there are several.
        const rows = sweeps.length > 1 ? labels : labels.map((label) => ({ ...label, sweep: undefined }));
        await writeFile(options.out, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
        note(`${rows.length} labels written to ${options.out}`);
      }
      if (options.json === true) printJson(labels);
      else printLine(formatLabels(labels));
    });
}
