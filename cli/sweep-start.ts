// passband sweep start: grades what a sweep file or flags ask for, and follows to the end.
import { Command, Option } from 'commander';
import { z } from 'zod';
import type { FailureClass } from '../domain/failures.ts';
import { InputError } from '../domain/errors.ts';
import { firstIssue, inWords } from '../domain/input-issues.ts';
import { scaffolds } from '../scaffolds/index.ts';
import { formatLabels, splitsOf } from './bands.ts';
import { defaultSeed, seedOf } from './calibrate.ts';
import { collect, positiveInt } from './numbers.ts';
import { exitCodes, flagText, note, printJson, printLine } from './output.ts';
import { readBands } from './results.ts';
import { checkSandbox, withSandbox, type SandboxOption } from './sandbox-option.ts';
import { readSplits } from './splits.ts';
import { commandText, storeUrl, useStore, withStore, type StoreOption } from './store-option.ts';
import type { SweepSummary } from './summary.ts';
import { readSweepFile } from './sweep-file.ts';
import { countOf, rejectedNote, rejectionLine } from './sweep-lines.ts';
import { SweepFileSchema, type SweepRequest } from './sweep-request.ts';
import { runSweep, type RunEnd } from './sweep-run.ts';

export interface SweepFlags extends StoreOption, SandboxOption {
  readonly tasks?: string;
  readonly model?: readonly string[];
  readonly scaffold?: readonly string[];
  readonly attempts?: number;
  readonly concurrency?: number;
  readonly name?: string;
  readonly unaudited?: boolean;
  readonly rewardKey?: string;
  readonly strict?: boolean;
  readonly offlineBuild?: boolean;
  readonly network?: string;
}

export interface ServerFlags {
  readonly temporal?: string;
  readonly namespace: string;
  readonly engine?: string;
}

export type SweepDocument = SweepSummary & {
  readonly stopped: { readonly failureClass: FailureClass; readonly reason: string } | null;
};

type StartFlags = SweepFlags &
  ServerFlags & {
    readonly splits?: string;
    readonly detach?: boolean;
    readonly json?: boolean;
    readonly seed: number;
  };

/** The exit statuses of what grades, for --help. */
export const sweepExits = [
  'Exits 0 where every planned trial is counted, 3 where coverage is below 1, 2 on bad input or where an operator must',
  'mend something (a model that is not served, an open network), 69 where a server, store, engine or cluster does not',
  'answer, 78 on a bad file of the Kubernetes driver, 130 on Ctrl-C. A rejected task has no planned trial: a line on',
  'stderr says how many were rejected, and check --strict and audit exit 3.',
].join('\n');

const knownRates = [
  'A known-rate model (known-rate-P) is an instrument: it means to solve each task with probability P, and is graded',
  'like any other; passband calibrate NAME then says whether the verdicts are what it meant (docs/calibration.md).',
].join('\n');

export const defaultNamespace = 'default';

/** Adds --temporal, --namespace and --engine. */
export function withServers(command: Command): Command {
  return withEngine(
    command
      .option('--temporal <address>', 'HOST:PORT of a Temporal server (default: an embedded one)')
      .option('--namespace <name>', 'its namespace', defaultNamespace),
  );
}

export function withEngine(command: Command): Command {
  return command.option(
    '--engine <endpoint>',
    'the container engine: a unix socket or a DOCKER_HOST form (default: found, or Podman is started)',
  );
}

/** `NAME`, `NAME=URL`, or `NAME=URL,URL` of replicas. */
function modelOf(flag: string): { name: string; endpoint: string[] | null } {
  const at = flag.indexOf('=');
  return at === -1
    ? { name: flag, endpoint: null }
    : { name: flag.slice(0, at), endpoint: flag.slice(at + 1).split(/,(?=https?:)/) };
}

/** Flags as the fields of a sweep file; what was not said is left out. */
function fieldsOf(flags: SweepFlags): Record<string, unknown> {
  const fields: Record<string, unknown> = {
    tasks: flags.tasks,
    models: flags.model?.map(modelOf),
    scaffolds: flags.scaffold,
    attempts: flags.attempts,
    concurrency: flags.concurrency,
    sandbox: flags.sandbox,
    kubernetes: flags.kubernetes,
    name: flags.name,
    unaudited: flags.unaudited,
    reward_key: flags.rewardKey,
    strict: flags.strict,
    offline_build: flags.offlineBuild,
    network: flags.network,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

const flagNames: Readonly<Record<string, string>> = {
  models: '--model',
  scaffolds: '--scaffold',
  reward_key: '--reward-key',
  offline_build: '--offline-build',
};

/**
 * The request of a sweep file, of flags, or of a file whose fields the flags replace.
 * @throws InputError with file, line and key, or naming the flag.
 */
export async function requestOf(file: string | undefined, flags: SweepFlags): Promise<SweepRequest> {
  const fields = fieldsOf(flags);
  if (file === undefined && fields['tasks'] === undefined) {
    throw new InputError('nothing to grade: give a sweep file, or --tasks DIR and --model NAME=URL');
  }
  const base = file === undefined ? {} : z.record(z.string(), z.unknown()).parse(await readSweepFile(file));
  const parsed = SweepFileSchema.safeParse({ ...base, ...fields }, { error: inWords });
  if (parsed.success) {
    checkSandbox({
      sandbox: parsed.data.sandbox,
      ...(parsed.data.kubernetes === undefined ? {} : { kubernetes: parsed.data.kubernetes }),
    });
    return parsed.data;
  }
  const { path, what } = firstIssue(parsed.error, 'the flags that --help shows');
  const field = String(path[0] ?? '');
  if (file === undefined && field === 'models' && fields['models'] === undefined) {
    throw new InputError(
      'no model to grade: give --model NAME=URL (or --model known-rate-0.5, which this command serves)',
    );
  }
  const given = field === 'models' ? flags.model?.[Number(path[1])] : undefined;
  const flag = flagNames[field] ?? `--${field}`;
  throw new InputError(`${given === undefined ? flag : `${flag} ${given}`}: ${what}`);
}

/** The summary as one line for people, rejected tasks before it. */
export function formatSummary(summary: SweepSummary): string {
  const counts = (of: Readonly<Record<string, number>>): string =>
    Object.entries(of)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ') || 'none';
  return [
    ...summary.rejected.map(rejectionLine),
    `sweep ${summary.sweep}: ${summary.counted} of ${countOf(summary.planned, 'planned trial')} counted (coverage ${summary.coverage.toFixed(3)}), ${countOf(summary.rejected.length, 'task')} rejected`,
    `results: ${counts(summary.results)}; endings: ${counts(summary.endings)}; not counted: ${counts(summary.failures)}`,
  ].join('\n');
}

/** The exit status that a sweep's end is worth. */
export function exitCodeOf(end: RunEnd): number {
  if (end.interrupted) return exitCodes.interrupted;
  return end.summary.planned > 0 && end.summary.counted === end.summary.planned
    ? exitCodes.done
    : exitCodes.uncovered;
}

/** What an interrupted command leaves: a server that it did not start goes on without it. */
export function interruptionOf(
  sweep: string,
  {
    temporal,
    namespace,
    store,
  }: Pick<ServerFlags, 'temporal' | 'namespace'> & { readonly store?: string | undefined },
): string {
  if (temporal === undefined)
    return `interrupted: nothing is left running; the same command goes on with sweep ${sweep}`;
  const where = [
    flagText('--temporal', temporal),
    flagText('--namespace', namespace === defaultNamespace ? undefined : namespace),
    flagText('--store', store),
  ].join('');
  return `interrupted: what was started at ${temporal} goes on; passband sweep watch ${sweep}${where} follows it, passband sweep cancel ${sweep}${where} ends it`;
}

/** What `--json` prints: the summary, and what stopped the sweep, if anything did. */
export function sweepDocument({ summary, stopped }: Pick<RunEnd, 'summary' | 'stopped'>): SweepDocument {
  return { ...summary, stopped: stoppedDocument(stopped) };
}

export function stoppedDocument(stopped: RunEnd['stopped']): SweepDocument['stopped'] {
  return stopped === null ? null : { failureClass: stopped.failureClass, reason: stopped.message };
}

async function start(file: string | undefined, flags: StartFlags): Promise<void> {
  if (flags.detach === true && flags.temporal === undefined) {
    throw new InputError(
      '--detach needs --temporal ADDRESS: the embedded server and its worker end with this command',
    );
  }
  const request = await requestOf(file, flags);
  const splitsFile = flags.splits ?? request.splits;
  const splits = splitsFile === undefined ? null : await readSplits(splitsFile);
  const given = flags.store ?? request.store;
  const url = given ?? storeUrl({});
  await useStore({ store: url }, async (store) => {
    const end = await runSweep(request, store, {
      temporal: flags.temporal ?? null,
      namespace: flags.namespace,
      engine: flags.engine ?? null,
      storeUrl: url,
      seed: flags.seed,
      detach: flags.detach ?? false,
      splits,
      gatesOnly: false,
      env: process.env,
    });
    const { sweep } = end.plan.plan;
    if (end.stopped !== null) {
      if (flags.json === true) printJson(sweepDocument(end));
      throw end.stopped;
    }
    if (end.interrupted) note(interruptionOf(sweep, { ...flags, store: given }));
    if (flags.json === true) {
      printJson(sweepDocument(end));
    } else if (flags.detach !== true) {
      const { labels } = await readBands(store, sweep, await splitsOf(store, sweep, undefined));
      printLine(formatLabels(labels));
      printLine(formatSummary(end.summary));
      const on = given === undefined ? {} : { store: given };
      const [bands, trials] = [commandText(`bands ${sweep}`, on), commandText(`trial list ${sweep}`, on)];
      printLine(`results: ${store.url} (${bands}, ${trials})`);
    }
    const rejected = rejectedNote(end.plan.plan, end.summary, request.tasks);
    if (rejected !== null) note(rejected);
    process.exitCode = flags.detach === true ? exitCodes.done : exitCodeOf(end);
  });
}

export function sweepStartCommand(): Command {
  const command = new Command('start')
    .description('grade a task set and follow to the end; the same command again goes on with the same sweep')
    .argument('[file]', 'a sweep file (YAML); flags replace its fields')
    .option('--tasks <dir>', 'a folder of task folders, or one task folder')
    .option(
      '--model <name[=url]>',
      'a model and the base URL of its OpenAI-compatible server, or URL,URL of its replicas (known-rate-P, an instrument that solves with probability P, needs no URL without --temporal); may be repeated',
      collect,
    )
    .option(
      '--scaffold <name>',
      `${scaffolds.map(({ name }) => name).join(', ')} (default: terminus-2); may be repeated`,
      collect,
    )
    .option('--attempts <k>', 'attempts of each task by each model (default: 8)', positiveInt)
    .option('--concurrency <n>', 'trials that run at once (default: 4)', positiveInt)
    .addOption(
      new Option('--network <mode>', 'deny (default), or what a task declares').choices([
        'deny',
        'as-declared',
      ]),
    )
    .option('--name <name>', 'the name of the sweep (default: derived from its plan)')
    .option('--unaudited', 'run tasks without a solution, too')
    .option('--reward-key <key>', 'the reward among several keys of reward.json')
    .option('--strict', 'unknown keys in a task are errors')
    .option('--offline-build', 'no network for RUN at image builds')
    .option('--splits <file>', 'rows of (task, split) for the labels')
    .option('--seed <n>', 'seed of known-rate models', seedOf, defaultSeed)
    .option('--detach', 'start it and do not follow (with --temporal)')
    .option('--json', 'print one JSON document at the end');
  return withServers(withSandbox(withStore(command)))
    .addHelpText('after', `\n${knownRates}\n\n${sweepExits}`)
    .action(start);
}
