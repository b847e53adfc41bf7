// Grading one final state, step by step: what a trial and a side of a gate have in common.
import { CancellationScope, log } from '@temporalio/workflow';
import type { Subject, TrialTimes } from '../activities/types.ts';
import { cleaning, deltas, episodes, setUp, verifications } from './activity-options.ts';
import type { Place } from './place.ts';

/**
 * Provisions the sandbox behind its network barrier, then runs, takes and verifies each step until one says that
 * the next is not reached. Answers how many steps were reached.
 */
export async function gradeSteps(place: Place, subject: Subject, times: TrialTimes): Promise<number> {
  await place.keep((earlierTries) => setUp(times).provision({ subject, earlierTries }));
  let reached = 0;
  for (const [step, limits] of times.steps.entries()) {
    await place.keep((earlierTries) => episodes(limits.agentMs).runEpisode({ subject, step, earlierTries }));
    await place.keep(() => deltas.takeDelta({ subject, step }));
    const { goOn } = await place.keep((earlierTries) =>
      verifications(times, limits.verifierMs).verify({ subject, step, earlierTries }),
    );
    reached = step + 1;
    if (!goOn) break;
  }
  return reached;
}

/** Removes a generation's sandboxes, whatever became of it. What does not go away is said and left to be found by label. */
export async function cleanUp(subject: Subject): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    try {
      await cleaning.cleanUp({ subject });
    } catch (error) {
      // The verdict or the failure record is written already: a sandbox that stays must not undo it.
      log.error('sandboxes could not be removed', { subject: JSON.stringify(subject), error: String(error) });
    }
  });
}
