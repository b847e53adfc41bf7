// What a scoring came to, trial by trial: counts and mean logprobs, for people and as JSON.
import type { SequenceScoreLine } from '../domain/score.ts';
import type { TrialScore } from './score-trial.ts';
import { formatTable } from './output.ts';

/** One trial's scores, summed. */
export interface ScoredTrial {
  readonly trial: string;
  readonly sequences: number;
  readonly scored: number;
  /** Sampled ids in the sequences that are scored. */
  readonly tokens: number;
  /** Mean logprob of those as they were sampled; null where it is not known of all. */
  readonly sampled: number | null;
  readonly teacher: number | null;
  readonly withoutIds: number;
  /** The first of its sequences' reasons. */
  readonly reason: string | null;
}

const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;

export function summariseTrial(trial: string, { lines, withoutIds }: TrialScore): ScoredTrial {
  const scored = lines.filter(({ outcome }) => outcome === 'scored');
  const completions = scored.flatMap((line) => line.completions);
  const teacher = completions.flatMap((completion) => completion.teacher ?? []);
  const sampled = completions.flatMap((completion) => completion.sampled ?? []);
  const failed = lines.find(({ outcome }) => outcome !== 'scored');
  return {
    trial,
    sequences: lines.length,
    scored: scored.length,
    tokens: teacher.length,
    sampled: sampled.length === teacher.length ? mean(sampled) : null,
    teacher: mean(teacher),
    withoutIds,
    reason: failed === undefined ? reasonOf(lines, withoutIds) : `${failed.outcome}: ${failed.message ?? ''}`,
  };
}

function reasonOf(lines: readonly SequenceScoreLine[], withoutIds: number): string | null {
  if (withoutIds > 0) return `${withoutIds} replies came without their ids`;
  return lines.length === 0 ? 'it has no reply' : null;
}

const number = (value: number | null): string => value?.toFixed(4) ?? '–';

export const formatScores = (trials: readonly ScoredTrial[]): string =>
  formatTable(
    ['trial', 'sequences', 'scored', 'tokens', 'sampled', 'teacher', 'not scored'],
    trials.map((row) => [
      row.trial,
      row.sequences,
      row.scored,
      row.tokens,
      number(row.sampled),
      number(row.teacher),
      row.reason ?? '',
    ]),
  );
