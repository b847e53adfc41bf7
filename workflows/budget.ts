// Admission under a wall-clock budget: a generation begins only if its full limits fit into what is left.
import type { TrialTimes } from '../activities/types.ts';
import type { PhaseFailure } from './phase-failure.ts';

/**
 * Null where the generation may begin; else why not. Nothing that has begun is cut: losing trials run longer, and a cut
 * at the end would take them out of the count. Times in milliseconds since the epoch.
 */
export function refusalOf(
  times: TrialTimes,
  nowMs: number,
  deadlineMs: number | undefined,
): PhaseFailure | null {
  if (deadlineMs === undefined) return null;
  const fullMs = times.steps.reduce((sum, step) => sum + step.agentMs + step.verifierMs, times.setupMs);
  if (nowMs + fullMs <= deadlineMs) return null;
  const leftSec = Math.max(0, Math.round((deadlineMs - nowMs) / 1_000));
  const message = `its limits come to ${Math.round(fullMs / 1_000)} s, and ${leftSec} s of the budget are left`;
  return { failureClass: 'BudgetExhausted', phase: 'admission', message };
}
