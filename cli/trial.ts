// passband trial list|show: what became of each trial of a sweep.
import { Command } from 'commander';
import { InputError } from '../domain/errors.ts';
import { trialName, verdictKey } from '../domain/layout.ts';
import { readPlan } from '../store/verdicts.ts';
import { formatTable, printJson, printLine } from './output.ts';
import { readTrials, type TrialResult } from './results.ts';
import { commandText, readStore, withStore, type StoreOption } from './store-option.ts';
import { idLines } from './trial-ids.ts';

type ListOptions = StoreOption & { readonly json?: boolean };

/** A trial as `trial list --json` prints it: null for what an uncounted trial does not have. */
export function trialRow({ trial, verdict, failure }: TrialResult) {
  return {
    task: trial.task.id,
    model: trial.model.name,
    scaffold: trial.scaffold.name,
    attempt: trial.attempt,
    generation: verdict?.generation ?? failure?.generation ?? null,
    ending: verdict?.ending ?? null,
    result: verdict?.result ?? null,
    failure: failure?.failureClass ?? null,
    counts: verdict !== null,
    reward: verdict?.reward ?? null,
    assertions: verdict?.assertions.map(({ name, status }) => ({ name, status })) ?? [],
    withheld: verdict?.withheld ?? [],
    agentSeconds: verdict?.agentSeconds ?? null,
    wallSeconds: verdict?.wallSeconds ?? null,
    firstTokenMs: verdict?.firstTokenMs ?? null,
    turns: verdict?.turns ?? null,
    outputTokens: verdict?.outputTokens ?? null,
    startedAt: verdict?.startedAt ?? failure?.startedAt ?? null,
    endedAt: verdict?.endedAt ?? failure?.endedAt ?? null,
  };
}

/** A trial's name as people read and type it. */
export const spokenName = ({ task, model, scaffold, attempt }: TrialResult['trial']): string =>
  `${task.id}/${model.name}/${scaffold.name}/${attempt}`;

/** Whether a name is this trial's: as `trial list` shows it, or by slugs as the store has it. */
export const isNamed = ({ trial }: TrialResult, name: string): boolean =>
  [spokenName(trial), trialName(trial.path)].includes(name);

export function formatTrials(trials: readonly TrialResult[]): string {
  return formatTable(
    ['trial', 'ending', 'result', 'reward', 'failure', 'turns', 'agent s', 'wall s'],
    trials.map((result) => {
      const row = trialRow(result);
      return [
        spokenName(result.trial),
        row.ending ?? '–',
        row.result ?? '–',
        row.reward ?? '–',
        row.failure ?? '',
        row.turns ?? '–',
        row.agentSeconds?.toFixed(1) ?? '–',
        row.wallSeconds?.toFixed(1) ?? '–',
      ];
    }),
  );
}

function listCommand(): Command {
  return withStore(new Command('list'))
    .description('every planned trial of a sweep, and what became of it')
    .argument('<sweep>', 'the name of a sweep')
    .option('--json', 'print a JSON array')
    .action(async (sweep: string, options: ListOptions) => {
      const trials = await readStore(
        options,
        async (store) => await readTrials(store, await readPlan(store, sweep)),
      );
      if (options.json === true) printJson(trials.map(trialRow));
      else printLine(formatTrials(trials));
    });
}

function showCommand(): Command {
  return withStore(new Command('show'))
    .description('one trial whole: its verdict, or the record of its last failure')
    .argument('<sweep>', 'the name of a sweep')
    .argument(
      '<trial>',
      'TASK/MODEL/SCAFFOLD/ATTEMPT, as the column `trial` of `trial list` has it, or by slugs',
    )
    .option('--json', 'print the stored object as it is')
    .action(async (sweep: string, name: string, options: ListOptions) => {
      const found = await readStore(options, async (store) => {
        const trials = await readTrials(store, await readPlan(store, sweep));
        const result = trials.find((one) => isNamed(one, name));
        if (result === undefined) return undefined;
        const { trial, verdict } = result;
        const ids = verdict === null || options.json === true ? [] : await idLines(store, { trial, verdict });
        return { ...result, ids };
      });
      if (found === undefined) {
        throw new InputError(
          `sweep ${sweep} has no trial ${name}: ${commandText(`trial list ${sweep}`, options)} shows those that are planned`,
        );
      }
      if (options.json === true) {
        printJson(found.verdict ?? found.failure);
        return;
      }
      const rows = Object.entries(trialRow(found)).filter(
        ([key]) => key !== 'assertions' && key !== 'withheld',
      );
      printLine(
        formatTable(
          ['field', 'value'],
          rows.map(([key, value]) => [key, typeof value === 'object' ? '–' : String(value)]),
        ),
      );
      for (const assertion of found.verdict?.assertions ?? [])
        printLine(`assertion ${assertion.status}: ${assertion.name}`);
      for (const { path, rule } of found.verdict?.withheld ?? []) printLine(`withheld ${path} (${rule})`);
      for (const line of found.ids) printLine(line);
      if (found.failure !== null)
        printLine(`${found.failure.failureClass} in ${found.failure.phase}: ${found.failure.message}`);
      printLine(`stored under ${verdictKey(found.trial.path).replace(/verdict\.json$/, '')}`);
    });
}

export function trialCommand(): Command {
  return new Command('trial')
    .description('the trials of a sweep')
    .addCommand(listCommand())
    .addCommand(showCommand());
}
