// The trial: one generation of it, from an empty sandbox to its verdict. Its sweep begins the next where the table says so.
import type { Subject, TrialOutcome } from '../activities/types.ts';
import { records } from './activity-options.ts';
import { refusalOf } from './budget.ts';
import { cleanUp, gradeSteps } from './grade.ts';
import { trialEndedSignal, type TrialInput } from './messages.ts';
import { phaseFailureOf, type PhaseFailure } from './phase-failure.ts';
import { Place } from './place.ts';
import { reporting } from './reporting.ts';
import type { TrialReport } from './reports.ts';

export async function trial(input: TrialInput): Promise<TrialReport> {
  const { index } = input;
  return reporting(trialEndedSignal, () => runTrial(input), { index, outcome: null, message: null });
}

async function runTrial({ sweep, plan, index, deadlineMs }: TrialInput): Promise<TrialReport> {
  const place = new Place({ kind: 'trial', index });
  let generation = 1;
  try {
    const subjectOf = (n: number): Subject => ({ kind: 'trial', sweep, plan, index, generation: n });
    const state = await place.keep(() => records.readTrial({ subject: subjectOf(generation) }));
    if (state.done !== null) return { index, outcome: state.done, message: null };
    generation = state.generation;
    const subject = subjectOf(generation);
    const refusal = refusalOf(state.times, Date.now(), deadlineMs);
    if (refusal !== null) {
      await place.keep(() => records.recordFailure({ subject, ...refusal }));
      return uncounted(index, generation, refusal);
    }
    const graded = gradeSteps(place, subject, state.times);
    // Beside the record: neither needs the other, and the trial's place in the window waits for both.
    const cleaned = graded.then(
      () => cleanUp(subject),
      () => cleanUp(subject),
    );
    try {
      return {
        index,
        outcome: await recorded(place, subject, await graded),
        message: null,
      };
    } catch (error) {
      const { failureClass, phase, message } = phaseFailureOf(error);
      const failure = { failureClass, phase, message };
      const { interrupted } = await place.keep(() => records.recordFailure({ subject, ...failure }));
      return { ...uncounted(index, generation, failure), interrupted };
    } finally {
      await cleaned;
    }
  } catch (error) {
    // The store itself: neither a verdict nor a failure record could be read or written.
    return uncounted(index, generation, phaseFailureOf(error));
  }
}

const recorded = (place: Place, subject: Subject, reached: number): Promise<TrialOutcome> =>
  place.keep(() => records.recordVerdict({ subject, reached }));

function uncounted(index: number, generation: number, failure: PhaseFailure): TrialReport {
  return {
    index,
    outcome: {
      counts: false,
      ending: null,
      result: null,
      failure: failure.failureClass,
      generations: generation,
    },
    message: `${failure.phase}: ${failure.message}`,
  };
}
