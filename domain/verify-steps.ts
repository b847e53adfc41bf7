// The verdict of a whole trial from those of its steps: every planned step stands in the denominator.
import type { FailedDetail, Result } from './failures.ts';
import type { Assertion, StepVerdict, Verification } from './verdict.ts';
import type { Withheld } from './delta.ts';

export interface FoldedSteps {
  readonly result: Result;
  readonly detail: FailedDetail | null;
  readonly reward: number | null;
  readonly rewards: Record<string, number>;
  readonly assertions: Assertion[];
  readonly withheld: Withheld[];
  readonly missing: string[];
  readonly warnings: string[];
}

/**
 * Folds the planned steps. `mean`: the mean of each key over all planned steps, one unreached or without a reward
 * counting 0, passed where every step passed; `final`: the last planned step's own. One step is its own verdict.
 */
export function foldSteps(steps: readonly StepVerdict[], strategy: 'mean' | 'final'): FoldedSteps {
  const verified = steps.flatMap(({ name, verification }) =>
    verification === null ? [] : [{ name, verification }],
  );
  const single = steps.length === 1;
  const label = (step: string, text: string): string => (single ? text : `${step}/${text}`);
  const outcome = strategy === 'final' ? finalOutcome(steps) : outcomeOf(steps);
  return {
    ...outcome,
    ...(strategy === 'final' ? rewardOfLast(steps) : meanRewards(steps)),
    assertions: verified.flatMap(({ name, verification }) =>
      verification.assertions.map((one) => ({ ...one, name: label(name, one.name) })),
    ),
    withheld: uniquePaths(verified.flatMap(({ verification }) => verification.withheld)),
    missing: [...new Set(verified.flatMap(({ verification }) => verification.missing))],
    warnings: verified.flatMap(({ name, verification }) =>
      verification.warnings.map((text) => (single ? text : `step ${name}: ${text}`)),
    ),
  };
}

const uniquePaths = (withheld: readonly Withheld[]): Withheld[] => [
  ...new Map(withheld.map((one) => [one.path, one])).values(),
];

type Outcome = Pick<FoldedSteps, 'result' | 'detail'>;

/** A failed step fails the trial; what is left undecided by disputed or unstable steps stays undecided. */
function outcomeOf(steps: readonly StepVerdict[]): Outcome {
  const reached = steps.flatMap(({ verification }) => (verification === null ? [] : [verification]));
  const failure = reached.find(({ result }) => result === 'failed');
  if (failure !== undefined) return { result: 'failed', detail: failure.detail };
  for (const result of ['unstable', 'disputed'] as const) {
    if (reached.some((one) => one.result === result)) return { result, detail: null };
  }
  return reached.length < steps.length
    ? { result: 'failed', detail: 'step-unreached' }
    : { result: 'passed', detail: null };
}

function finalOutcome(steps: readonly StepVerdict[]): Outcome {
  const last = steps.at(-1)?.verification ?? null;
  if (last !== null) return { result: last.result, detail: last.detail };
  const stopped = steps.findLast(({ verification }) => verification !== null)?.verification;
  return stopped?.result === 'disputed' || stopped?.result === 'unstable'
    ? { result: stopped.result, detail: null }
    : { result: 'failed', detail: 'step-unreached' };
}

type Rewards = Pick<FoldedSteps, 'reward' | 'rewards'>;

function rewardOfLast(steps: readonly StepVerdict[]): Rewards {
  const last: Verification | null = steps.at(-1)?.verification ?? null;
  return last === null ? { reward: 0, rewards: {} } : { reward: last.reward, rewards: last.rewards };
}

function meanRewards(steps: readonly StepVerdict[]): Rewards {
  const read = steps.map(({ verification }) => verification);
  const keys = [...new Set(read.flatMap((one) => Object.keys(one?.rewards ?? {})))].sort();
  const mean = (value: (one: Verification | null) => number | undefined | null): number =>
    read.reduce((sum, one) => sum + (value(one) ?? 0), 0) / steps.length;
  const anyRead = read.some((one) => one !== null && one.reward !== null);
  return {
    reward: anyRead ? mean((one) => one?.reward) : null,
    rewards: Object.fromEntries(keys.map((key) => [key, mean((one) => one?.rewards[key])])),
  };
}
