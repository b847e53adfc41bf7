// What the verification of one final state says: the rules under which a reward of 1 stands.
import type { FailedDetail, Result } from './failures.ts';
import type { Assertion } from './verdict.ts';

/** What one run of a verifier left. */
export interface VerifierRun {
  /** `gone`: the sandbox was ended from inside; `oom`: by its memory. */
  readonly end: 'exited' | 'timeout' | 'oom' | 'gone';
  /** Processes that the kernel killed for memory meanwhile. */
  readonly oomKills: number;
  readonly reward: number | null;
  /** A reward file is there, and it is no reward. */
  readonly malformed: boolean;
  /** Something but the verifier itself wrote the reward (shared mode). */
  readonly forged: boolean;
  readonly assertions: readonly Assertion[];
}

export interface Judgement {
  readonly result: Extract<Result, 'passed' | 'failed'>;
  readonly detail: FailedDetail | null;
}

const failed = (detail: FailedDetail | null): Judgement => ({ result: 'failed', detail });

/**
 * Passed: the reward is 1, and every assertion that the oracle's run named and passed is named again and passed.
 * `expected`: those names. Whatever else is failed, with why where the reward alone does not say it.
 */
export function judge(run: VerifierRun, expected: readonly string[]): Judgement {
  if (run.end === 'timeout') return failed('verifier-timeout');
  if (run.end === 'oom') return failed('verifier-oom');
  if (run.end === 'gone') return failed('no-reward');
  if (run.forged || run.malformed) return failed('malformed-reward');
  if (run.reward === null) return failed(run.oomKills > 0 ? 'verifier-oom' : 'no-reward');
  if (run.reward !== 1) return failed(null);
  const passed = new Set(passedNames(run.assertions));
  const named = new Set(run.assertions.map(({ name }) => name));
  if (expected.some((name) => !named.has(name))) return failed('assertion-missing');
  if (expected.some((name) => !passed.has(name))) return failed('assertion-failed');
  return { result: 'passed', detail: null };
}

/** Names of which every assertion passed: what the oracle's run asks of every later one. */
export function passedNames(assertions: readonly Assertion[]): string[] {
  const names = new Set(assertions.filter(({ status }) => status === 'passed').map(({ name }) => name));
  for (const { name, status } of assertions) if (status !== 'passed') names.delete(name);
  return [...names];
}

/** The ends of a verifier that may be the task's own fault: the oracle is verified once more before they count. */
export const doubtfulDetails: readonly FailedDetail[] = ['no-reward', 'verifier-timeout', 'verifier-oom'];

/** Whether the next step is reached: each bound of `minReward` is met by a reward that is there. */
export function meetsMinReward(
  minReward: number | Readonly<Record<string, number>> | null,
  { reward, rewards }: { readonly reward: number | null; readonly rewards: Readonly<Record<string, number>> },
): boolean {
  if (minReward === null) return true;
  if (typeof minReward === 'number') return reward !== null && reward >= minReward;
  return Object.entries(minReward).every(([key, bound]) => {
    const value = rewards[key];
    return value !== undefined && value >= bound;
  });
}
