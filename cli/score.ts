// passband score: what another model says of the exact ids of stored trials.
import { Command } from 'commander';
import { pMapIterable } from 'p-map';
import { InputError } from '../domain/errors.ts';
import type { SequenceScoreLine } from '../domain/score.ts';
import { createScorer, type Scorer } from '../model/prompt-logprobs.ts';
import { Secret } from '../model/secret.ts';
import type { Store } from '../store/port.ts';
import { readPlan } from '../store/verdicts.ts';
import { onInterrupt } from './interrupt.ts';
import { positiveInt } from './numbers.ts';
import { exitCodes, note, printJson, printLine } from './output.ts';
import { openReplacingFile } from './replacing-file.ts';
import { readTrials, type TrialResult } from './results.ts';
import { formatScores, summariseTrial, type ScoredTrial } from './score-report.ts';
import { scoreTrial } from './score-trial.ts';
import { commandText, readStore, withStore, type StoreOption } from './store-option.ts';
import { isNamed, spokenName } from './trial.ts';

interface ScoreOptions extends StoreOption {
  readonly endpoint: string;
  readonly model: string;
  readonly keyEnv?: string;
  readonly concurrency: number;
  readonly out?: string;
  readonly json?: boolean;
}

type Counted = TrialResult & { readonly verdict: NonNullable<TrialResult['verdict']> };

const lineEveryMs = 15_000;

/** @throws InputError where a name is no trial's, a trial has no verdict, or nothing is there to score */
async function trialsToScore(
  store: Store,
  sweep: string,
  names: readonly string[],
  options: StoreOption,
): Promise<Counted[]> {
  const all = await readTrials(store, await readPlan(store, sweep));
  const chosen =
    names.length === 0
      ? all.filter(({ verdict }) => verdict !== null)
      : names.map((name) => {
          const found = all.find((result) => isNamed(result, name));
          if (found !== undefined) return found;
          throw new InputError(
            `sweep ${sweep} has no trial ${name}: ${commandText(`trial list ${sweep}`, options)} shows those that are planned`,
          );
        });
  const counted = chosen.map((result): Counted => {
    const { trial, verdict } = result;
    if (verdict !== null) return { ...result, verdict };
    throw new InputError(`trial ${spokenName(trial)} has no verdict: only counted trials are scored`);
  });
  if (counted.length === 0)
    throw new InputError(`sweep ${sweep} has no counted trial: there is nothing to score`);
  return counted;
}

/** @throws InputError where the variable that should hold the key is not set */
function scorerOf({ endpoint, model, keyEnv }: ScoreOptions): Scorer {
  const key = keyEnv === undefined ? null : (process.env[keyEnv] ?? '');
  if (key === '') {
    throw new InputError(
      `--key-env ${keyEnv ?? ''}: that environment variable is not set: it should hold the API key`,
    );
  }
  return createScorer({
    url: endpoint,
    servedName: model,
    apiKey: key === null ? null : new Secret(key),
  });
}

const hasIds = ({ sequences }: ScoredTrial): boolean => sequences > 0;

interface Scoring {
  readonly trials: readonly Counted[];
  readonly scorer: Scorer;
  readonly options: ScoreOptions;
  readonly signal: AbortSignal;
  readonly take: (lines: readonly SequenceScoreLine[]) => Promise<void>;
}

/** Scores trial by trial, in their order; `done` is what has come so far, whatever ends it. */
async function scoreAll(
  store: Store,
  { trials, scorer, options, signal, take }: Scoring,
  done: ScoredTrial[],
): Promise<void> {
  const teacher = { model: options.model, scorer, signal };
  const scores = pMapIterable(
    trials,
    async (result) => ({ result, score: await scoreTrial(store, result, teacher) }),
    { concurrency: options.concurrency },
  );
  let saidAt = performance.now();
  for await (const { result, score } of scores) {
    await take(score.lines);
    done.push(summariseTrial(spokenName(result.trial), score));
    if (performance.now() - saidAt < lineEveryMs) continue;
    saidAt = performance.now();
    note(`${done.length}/${trials.length} trials scored`);
  }
}

async function score(
  store: Store,
  sweep: string,
  names: readonly string[],
  options: ScoreOptions,
): Promise<void> {
  const trials = await trialsToScore(store, sweep, names, options);
  const scorer = scorerOf(options);
  const interrupt = onInterrupt();
  const out = options.out === undefined ? null : await openReplacingFile(options.out);
  const lines: SequenceScoreLine[] = [];
  const done: ScoredTrial[] = [];
  const take = async (scored: readonly SequenceScoreLine[]): Promise<void> => {
    if (options.json === true && out === null) lines.push(...scored);
    await out?.write(scored.map((line) => `${JSON.stringify(line)}\n`).join(''));
  };
  try {
    await scoreAll(store, { trials, scorer, options, signal: interrupt.signal, take }, done);
    if (!done.some(hasIds)) {
      throw new InputError(
        `no reply of ${done.length === 1 ? 'this trial' : 'these trials'} has its exact ids: its server gave none (vLLM does, by return_token_ids)`,
      );
    }
    await out?.keep();
    if (options.out !== undefined) note(`scores of ${done.length} trials written to ${options.out}`);
    report(sweep, { options, done, lines });
  } catch (error) {
    if (!done.some(hasIds)) await out?.discard();
    else if (out !== null)
      note(`scores of ${done.length} of ${trials.length} trials are in ${await out.keepPart()}`);
    if (interrupt.signal.aborted) throw new InputError('interrupted', exitCodes.interrupted);
    throw error;
  } finally {
    interrupt.off();
    await scorer.close();
  }
}

function report(
  sweep: string,
  {
    options,
    done,
    lines,
  }: {
    readonly options: ScoreOptions;
    readonly done: readonly ScoredTrial[];
    readonly lines: readonly SequenceScoreLine[];
  },
): void {
  if (options.json === true) {
    const scores = options.out === undefined ? { scores: lines } : {};
    printJson({
      format: 'passband.scores',
      version: 1,
      sweep,
      teacher: options.model,
      trials: done,
      ...scores,
    });
  } else printLine(formatScores(done));
  if (done.some(({ reason }) => reason !== null)) process.exitCode = exitCodes.uncovered;
}

export function scoreCommand(): Command {
  return withStore(new Command('score'))
    .description('logprobs of stored trials’ sampled tokens by another model, over their exact ids')
    .argument('<sweep>', 'the name of a sweep')
    .argument(
      '[trial...]',
      'TASK/MODEL/SCAFFOLD/ATTEMPT, as `trial list` has it (default: every counted trial)',
    )
    .requiredOption('--endpoint <url>', 'base URL of the teacher’s server, http://HOST:PORT/v1')
    .requiredOption(
      '--model <name>',
      'the teacher’s name on that server; its tokenizer is that of the trials’ model',
    )
    .option('--key-env <name>', 'the environment variable that holds the API key')
    .option('--concurrency <n>', 'trials that are scored at once', positiveInt, 4)
    .option('--out <file>', 'write the scores as JSONL, a sequence a line')
    .option('--json', 'print one JSON document; without --out it holds the scores')
    .addHelpText(
      'after',
      [
        '',
        'The endpoint takes prompts as ids and gives prompt_logprobs (vLLM). Each sequence between two breaks of an episode’s',
        'ids is one request; docs/token-ids.md has the fields.',
        '',
        'Exits 0 where all is scored, 3 where some is not (each trial says why), 2 on bad input, 69 where the endpoint is not there.',
        'What was scored before an end lies in FILE.partial; FILE itself is left as it was.',
      ].join('\n'),
    )
    .action(async (sweep: string, names: string[], options: ScoreOptions) => {
      await readStore(options, (store) => score(store, sweep, names, options));
    });
}
