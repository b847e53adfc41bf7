// What must hold after a sweep under faults: nothing lost, nothing twice, nothing but what the models meant. Pure.
import type { Ending } from '../../domain/failures.ts';
import type { FailureRecord, Verdict } from '../../domain/verdict.ts';
import type { FailingWay } from '../../instruments/known-rate/intent.ts';
import type { Calibration } from '../../instruments/calibrate.ts';
import { isWrittenOnce } from './store-keys.ts';
import type { Write } from './writes.ts';

/** A planned trial, with what became of it. */
export interface TrialEnd {
  /** `SWEEP/TASK/MODEL/SCAFFOLD/NN`. */
  readonly trial: string;
  readonly verdict: Pick<Verdict, 'ending' | 'result' | 'generation'> | null;
  /** Where there is no verdict: the record of its last generation. */
  readonly failure: Pick<FailureRecord, 'failureClass' | 'message'> | null;
  /** How its model meant to fail; null: it meant to solve. */
  readonly way: FailingWay | null;
}

/** Trials without a verdict that no budget explains. */
export const lostTrials = (trials: readonly TrialEnd[]): string[] =>
  trials
    .filter(({ verdict, failure }) => verdict === null && failure?.failureClass !== 'BudgetExhausted')
    .map(({ trial, failure }) =>
      failure === null ? `${trial}: no trace` : `${trial}: ${failure.failureClass}: ${failure.message}`,
    );

/** How the episode of each way ends. Any other end was not the agent's own doing. */
const endingOfWay: Readonly<Record<FailingWay, Ending>> = {
  'wrong-file': 'completed',
  'gives-up-early': 'completed',
  'breaks-protocol-once': 'completed',
  'one-assertion': 'completed',
  'never-finishes': 'agent-timeout',
  'eats-memory': 'agent-oom',
  'fills-disk': 'agent-disk-full',
};

/** Verdicts whose result or ending is not what the model meant. */
export function wrongVerdicts(trials: readonly TrialEnd[], calibrations: readonly Calibration[]): string[] {
  const disagreeing = calibrations.flatMap(({ disagree }) =>
    disagree.map(
      ({ task, model, attempt, meant, result }) =>
        `${task} ${model} ${attempt}: meant to ${meant}, is ${result}`,
    ),
  );
  const ended = trials.flatMap(({ trial, verdict, way }) => {
    const meant = way === null ? 'completed' : endingOfWay[way];
    return verdict === null || verdict.ending === meant
      ? []
      : [`${trial}: ${way ?? 'solves'}: meant to end as ${meant}, ended as ${verdict.ending}`];
  });
  return [...disagreeing, ...ended];
}

/** A request that a model was asked, of one call of an episode. */
export interface Sampled {
  readonly atMs: number;
  /** Of the reply's record. */
  readonly key: string;
}

/** How long a request may have been on its way when the record of the same reply was written by another worker. */
const onItsWayMs = 2_000;

/** Objects that the store took twice, and replies that were asked for after their record stood. */
export function doubledThings(writes: readonly Write[], sampled: readonly Sampled[]): string[] {
  const firstMs = new Map<string, number>();
  const doubled: string[] = [];
  for (const { key, atMs } of writes) {
    if (!isWrittenOnce(key)) continue;
    if (firstMs.has(key)) doubled.push(`${key} was written twice`);
    else firstMs.set(key, atMs);
  }
  const again = sampled.filter(({ key, atMs }) => atMs > (firstMs.get(key) ?? Infinity) + onItsWayMs);
  return [...doubled, ...again.map(({ key }) => `${key} was sampled again`)];
}

/** Replies of trials that stand in the store and that no model was seen to give. */
export function foreignReplies(keys: readonly string[], sampled: readonly Sampled[]): string[] {
  const given = new Set(sampled.map(({ key }) => key));
  return keys
    .filter((key) => key.startsWith('v1/sweeps/') && key.endsWith('-reply.json') && !given.has(key))
    .map((key) => `${key}: no model gave this reply`);
}
