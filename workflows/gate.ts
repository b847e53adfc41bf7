// The gate of one task: its oracle must pass and a nop must not, once, before its first counted trial.
import { ApplicationFailure, sleep } from '@temporalio/workflow';
import type { GateSummary, Subject } from '../activities/types.ts';
import { failureTable } from '../domain/failures.ts';
import { images, records, stretches } from './activity-options.ts';
import { waitBeforeNextMs } from './generations.ts';
import { cleanUp, gradeSteps } from './grade.ts';
import { gateEndedSignal, type GateInput } from './messages.ts';
import { phaseFailureOf } from './phase-failure.ts';
import { Place } from './place.ts';
import { reporting } from './reporting.ts';
import type { GateReport } from './reports.ts';

type Mode = 'shared' | 'separate';
type Agent = 'oracle' | 'nop';

export async function gate(input: GateInput): Promise<GateReport> {
  const { task } = input;
  return reporting(gateEndedSignal, () => runGate(input), { task, ended: { kind: 'cancelled' } });
}

async function runGate(input: GateInput): Promise<GateReport> {
  const { task } = input;
  try {
    const summary = await formGate(input, new Place({ kind: 'gate', task }));
    return { task, ended: { kind: 'formed', summary } };
  } catch (error) {
    const { failureClass, phase, message } = phaseFailureOf(error);
    return { task, ended: { kind: 'unformed', failureClass, message: `${phase}: ${message}` } };
  }
}

async function formGate(input: GateInput, place: Place): Promise<GateSummary> {
  const { plan, task } = input;
  const stands = await place.keep(() => records.readGate({ plan, task }));
  if (stands !== null) return stands;
  const prepared = await begunAnew(nameOf(input, 'images'), () =>
    place.keep(() => images.prepareTask(input)),
  );
  if (prepared.outcome !== 'ready') return prepared;
  const modes: readonly Mode[] = prepared.environmentMode === 'shared' ? ['shared'] : ['separate', 'shared'];
  for (const environmentMode of modes) {
    const oracle = await runSide(input, place, 'oracle', environmentMode);
    const nop = await runSide(input, place, 'nop', environmentMode);
    const summary = await place.keep(() =>
      stretches.concludeGate({ ...input, environmentMode, oracle, nop }),
    );
    if (summary.outcome !== 'try-shared') return summary;
  }
  throw ApplicationFailure.nonRetryable(`the gate of task ${task} asks for shared mode twice`, 'Unexpected');
}

/** Runs and verifies one side. Answers the generation that counts, null where the task itself is what failed. */
async function runSide(
  input: GateInput,
  place: Place,
  agent: Agent,
  environmentMode: Mode,
): Promise<number | null> {
  const subjectOf = (generation: number): Subject => ({
    kind: 'gate',
    ...input,
    agent,
    environmentMode,
    generation,
  });
  try {
    return await begunAnew(nameOf(input, `${agent}/${environmentMode}`), () => gradeSide(place, subjectOf));
  } catch (error) {
    if (failureTable[phaseFailureOf(error).failureClass].owner !== 'task') throw error;
    return null;
  }
}

/** One try of a side. What a command of ours interrupted is begun anew at once, and is no try. */
async function gradeSide(place: Place, subjectOf: (generation: number) => Subject): Promise<number> {
  for (;;) {
    const { times, generation } = await place.keep(() => records.readTrial({ subject: subjectOf(1) }));
    const subject = subjectOf(generation);
    try {
      await gradeSteps(place, subject, times);
      return generation;
    } catch (error) {
      const { failureClass, phase, message } = phaseFailureOf(error);
      const { interrupted } = await place.keep(() =>
        records.recordFailure({ subject, failureClass, phase, message }),
      );
      if (!interrupted) throw error;
    } finally {
      await cleanUp(subject);
    }
  }
}

/** Does the work, and does it again after a wait for as long as the failure table and the generations allow. */
async function begunAnew<T>(name: string, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      const waitMs = waitBeforeNextMs(phaseFailureOf(error).failureClass, tries, name);
      if (waitMs === null) throw error;
      await sleep(waitMs);
    }
  }
}

const nameOf = (input: GateInput, part: string): string => `${input.sweep}/gate/${input.task}/${part}`;
