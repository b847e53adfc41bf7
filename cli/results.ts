// Reads a sweep's results from the store: labels, summary, and a row a trial.
import pMap from 'p-map';
import { failuresPrefix } from '../domain/layout.ts';
import { GateRecordSchema } from '../domain/gate.ts';
import type { Plan, TrialInPlan } from '../domain/sweep.ts';
import { FailureRecordSchema, VerdictSchema, type FailureRecord, type Verdict } from '../domain/verdict.ts';
import { GateRowSchema, VerdictRowSchema, labelsOf, type Label } from '../statistics/labels.ts';
import { readJson } from '../store/objects.ts';
import type { Store } from '../store/port.ts';
import { readGates, readPlan, readVerdicts, trialsOf } from '../store/verdicts.ts';
import { rejectionsOf, summarise, type SweepSummary } from './summary.ts';

const readsAtOnce = 32;

export interface SweepBands {
  readonly labels: readonly Label[];
  /** Planned trials of the tasks that the gate did not reject, and those that are counted. */
  readonly planned: number;
  readonly counted: number;
  /** Every task that has no label, with the reason: read or built it could not be, or its gate fails. */
  readonly rejected: readonly { readonly task: string; readonly reason: string }[];
}

/** The labels of one sweep from its verdicts as they are now, and what they do not say: coverage and tasks without one. */
export async function readBands(
  store: Store,
  sweep: string,
  splits: ReadonlyMap<string, string>,
): Promise<SweepBands> {
  const plan = await readPlan(store, sweep);
  const gates = await readGates(store, plan, GateRowSchema);
  const verdicts = [];
  for await (const { verdict } of readVerdicts(store, plan, VerdictRowSchema)) verdicts.push(verdict);
  const labels = labelsOf({ plan, gates, verdicts, splits });
  return {
    labels,
    planned: labels.reduce((sum, { k }) => sum + k, 0),
    counted: labels.reduce((sum, { n_counted: counted }) => sum + counted, 0),
    rejected: rejectionsOf(plan, gates).all,
  };
}

/** The record of a trial's last lost generation; null where none was lost. */
async function readLastFailure(store: Store, trial: TrialInPlan): Promise<FailureRecord | null> {
  let last: string | null = null;
  for await (const object of store.list(failuresPrefix(trial.path))) last = object.key;
  return last === null ? null : await readJson(store, last, FailureRecordSchema);
}

export interface TrialResult {
  readonly trial: TrialInPlan;
  readonly verdict: Verdict | null;
  /** Where there is no verdict: why the last generation was lost, null where none was begun. */
  readonly failure: FailureRecord | null;
}

/** Every planned trial of the tasks that the gate did not reject, with what became of it, in the plan's order. */
export async function readTrials(store: Store, plan: Plan): Promise<TrialResult[]> {
  const gates = await readGates(store, plan, GateRowSchema);
  const verdicts = new Map<number, Verdict>();
  for await (const { trial, verdict } of readVerdicts(store, plan, VerdictSchema))
    verdicts.set(trial.index, verdict);
  const planned = [...trialsOf(plan)].filter((trial) => gates.get(trial.task.id)?.outcome !== 'rejected');
  return await pMap(
    planned,
    async (trial) => {
      const verdict = verdicts.get(trial.index) ?? null;
      return { trial, verdict, failure: verdict === null ? await readLastFailure(store, trial) : null };
    },
    { concurrency: readsAtOnce },
  );
}

/** What a sweep has come to, from the store alone. */
export async function readSummary(store: Store, sweep: string): Promise<SweepSummary> {
  const plan = await readPlan(store, sweep);
  const gates = await readGates(store, plan, GateRecordSchema);
  const trials = await readTrials(store, plan);
  return summarise(
    plan,
    gates,
    trials.flatMap(({ verdict }) => (verdict === null ? [] : [verdict])),
    trials.flatMap(({ failure }) => (failure === null ? [] : [failure])),
  );
}
