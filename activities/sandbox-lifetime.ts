// How long a sandbox can be wanted: every limit of its task, and an outage that its trial may sit out.
import { outageMs } from '../domain/backoff.ts';
import type { Task } from '../domain/task.ts';

/** Starting on a loaded machine, taking and laying deltas of gigabytes, the waits between phases. */
const marginSec = 2 * 60 * 60;

/** Seconds, counted from its start. A step may be verified three times over (verify/verify.ts), each time from a set-up on. */
export function lifetimeSecOf({ limits, steps }: Pick<Task, 'limits' | 'steps'>): number {
  const setupSec = limits.setupSec.value;
  const stepsSec = steps.reduce(
    (sum, { agentSec, verifierSec }) => sum + agentSec.value + 3 * (setupSec + verifierSec.value),
    0,
  );
  return Math.ceil(setupSec + stepsSec + outageMs / 1_000 + marginSec);
}
