// Scores one stored trial: its exact sequences, rebuilt and checked, each in one request to the teacher.
import { setTimeout as wait } from 'node:timers/promises';
import { fullJitterMs, type Backoff } from '../domain/backoff.ts';
import type { ReplyRecord } from '../domain/episode.ts';
import { ClassifiedError } from '../domain/errors.ts';
import { generationPrefix, trialPrefix } from '../domain/layout.ts';
import { SequenceScoreSchema, type SequenceScoreLine } from '../domain/score.ts';
import type { TrialInPlan } from '../domain/sweep.ts';
import type { Verdict } from '../domain/verdict.ts';
import type { Scorer, SequenceScore } from '../model/prompt-logprobs.ts';
import { idSequences, type IdSequence } from '../store/id-sequences.ts';
import { idsChecksum } from '../store/ids-checksum.ts';
import type { Store } from '../store/port.ts';
import { readReplies } from '../store/replies.ts';

export interface TrialScore {
  readonly lines: readonly SequenceScoreLine[];
  /** Replies that the server gave without their ids: they are in no sequence. */
  readonly withoutIds: number;
}

export interface Teacher {
  readonly model: string;
  readonly scorer: Scorer;
  readonly signal: AbortSignal;
}

/** @throws ObjectError where the records do not fit together; ClassifiedError where the endpoint scores nothing at all */
export async function scoreTrial(
  store: Store,
  { trial, verdict }: { readonly trial: TrialInPlan; readonly verdict: Verdict },
  teacher: Teacher,
): Promise<TrialScore> {
  const lines: SequenceScoreLine[] = [];
  let withoutIds = 0;
  const generation = generationPrefix(trialPrefix(trial.path), verdict.generation);
  for (const [index, step] of verdict.steps.entries()) {
    if (!step.reached) continue;
    const replies = await readReplies(store, generation, index);
    withoutIds += replies.filter(lacksIds).length;
    let ordinal = 0;
    for (const sequence of idSequences(replies, `${generation} step ${step.name}`)) {
      const score = await scoreSequence(sequence, teacher);
      const place = { verdict, step: step.name, ordinal };
      lines.push(SequenceScoreSchema.parse(lineOf(place, sequence, { teacher, score })));
      ordinal += 1;
    }
  }
  return { lines, withoutIds };
}

const lacksIds = ({ kind, promptIds, completionIds }: ReplyRecord): boolean =>
  kind === 'reply' && (promptIds === null || completionIds === null);

/** Of one sequence, before the endpoint is taken to be away. */
const mostTries = 4;
const scoringBackoff: Backoff = { baseMs: 500, capMs: 8_000, floorMs: 100 };

async function askAgain<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      const away = error instanceof ClassifiedError && error.failureClass === 'ModelUnavailable';
      if (!away || tries === mostTries) throw error;
      const asked = error.retryAfterMs ?? 0;
      await wait(Math.max(asked, fullJitterMs(scoringBackoff, tries, Math.random())), undefined, { signal });
    }
  }
}

type Scored = SequenceScore | { readonly kind: 'another-tokenizer'; readonly message: string };

async function scoreSequence(sequence: IdSequence, { scorer, signal }: Teacher): Promise<Scored> {
  const score = await askAgain(() => scorer.score(sequence.ids, signal), signal);
  if (score.kind !== 'scored') return score;
  const other = sequence.sampled.find(({ from, ids, text }) => {
    const tokens = score.tokens.slice(from - 1, from - 1 + ids.length);
    return tokens.every((token) => token !== null) && !says(tokens.join(''), text);
  });
  if (other === undefined) return score;
  const message = `the ids of reply ${other.call} are another text by the endpoint's tokenizer`;
  return { kind: 'another-tokenizer', message };
}

/** Shorter texts are in many others by chance. */
const shortestTelling = 16;

/** Whether tokens one by one say a text: characters may lie across tokens, and spaces be written into them. */
function says(tokens: string, text: string): boolean {
  const plain = (of: string): string => of.replaceAll(/[^A-Za-z0-9]/g, '');
  const wanted = plain(text);
  return wanted.length < shortestTelling || plain(tokens).includes(wanted);
}

function lineOf(
  { verdict, step, ordinal }: { readonly verdict: Verdict; readonly step: string; readonly ordinal: number },
  { ids, sampled, brokenBy }: IdSequence,
  { teacher, score }: { readonly teacher: Teacher; readonly score: Scored },
): SequenceScoreLine {
  return {
    format: 'passband.score',
    version: 1,
    trial: verdict.trial,
    generation: verdict.generation,
    step,
    sequence: ordinal,
    brokenBy,
    teacher: { model: teacher.model, endpoint: teacher.scorer.shown },
    ids: { count: ids.length, sha256: idsChecksum(ids) },
    outcome: score.kind,
    message: score.kind === 'scored' ? null : score.message,
    completions: sampled.map(({ call, from, ids: completion, logprobs }) => ({
      call,
      from,
      ids: [...completion],
      sampled: logprobs === null ? null : [...logprobs],
      // Of the first id of a sequence nobody says anything, and none of those is sampled.
      teacher: score.kind === 'scored' ? score.logprobs.slice(from - 1, from - 1 + completion.length) : null,
    })),
  };
}
