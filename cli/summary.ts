// What a sweep has come to, recomputed from the store alone: plan, gates, verdicts, failure records.
import type { GateRecord } from '../domain/gate.ts';
import { countTrials, shapeOf, type Plan, type Rejection } from '../domain/sweep.ts';
import type { FailureRecord, Verdict } from '../domain/verdict.ts';

export interface SweepSummary {
  readonly sweep: string;
  /** Trials of the tasks that the gate kept, or has not seen yet. */
  readonly planned: number;
  readonly counted: number;
  readonly coverage: number;
  readonly rejected: readonly Rejection[];
  readonly results: Readonly<Record<string, number>>;
  readonly endings: Readonly<Record<string, number>>;
  /** Trials without a verdict, by the class of their last failure. */
  readonly failures: Readonly<Record<string, number>>;
}

/** What a build said last, on several lines, as one that a list can hold. */
const oneLine = (text: string): string => text.trim().replaceAll(/\s*\n\s*/g, ' | ');

/** As much of a gate record as its rejection needs. */
export type GateRejection = Pick<GateRecord, 'outcome' | 'reason' | 'message'>;

/** A gate's rejection in the shape of the reader's. */
export function gateRejection(task: string, gate: GateRejection): Rejection | null {
  if (gate.outcome !== 'rejected') return null;
  return {
    task,
    file: null,
    key: null,
    line: null,
    reason: gate.reason ?? 'invalid',
    message: oneLine(gate.message ?? ''),
  };
}

function tally(values: Iterable<string>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => a.localeCompare(b)));
}

type Counts = Pick<SweepSummary, 'planned' | 'counted'>;

/** counted / planned; 0 of nothing. */
export const coverageIn = ({ planned, counted }: Counts): number => (planned === 0 ? 0 : counted / planned);

/** Whether every planned trial is counted. */
export const isComplete = ({ planned, counted }: Counts): boolean => planned > 0 && counted === planned;

/** What was rejected of a plan: at reading, then at the gate. */
export function rejectionsOf(
  plan: Pick<Plan, 'tasks' | 'rejected'>,
  gates: ReadonlyMap<string, GateRejection>,
): { readonly all: readonly Rejection[]; readonly atGate: number } {
  const atGate = plan.tasks.flatMap(({ id }) => {
    const gate = gates.get(id);
    const rejection = gate === undefined ? null : gateRejection(id, gate);
    return rejection === null ? [] : [rejection];
  });
  return { all: [...plan.rejected, ...atGate], atGate: atGate.length };
}

/**
 * Folds what the store holds of a sweep. `lastFailures` holds, for each trial without a verdict that failed, the
 * record of its last generation.
 */
export function summarise(
  plan: Plan,
  gates: ReadonlyMap<string, GateRecord>,
  verdicts: readonly Pick<Verdict, 'result' | 'ending'>[],
  lastFailures: readonly Pick<FailureRecord, 'failureClass'>[],
): SweepSummary {
  const { all, atGate } = rejectionsOf(plan, gates);
  const planned = countTrials({ ...shapeOf(plan), tasks: plan.tasks.length - atGate });
  const counted = verdicts.length;
  return {
    sweep: plan.sweep,
    planned,
    counted,
    coverage: coverageIn({ planned, counted }),
    rejected: all,
    results: tally(verdicts.map((verdict) => verdict.result)),
    endings: tally(verdicts.map((verdict) => verdict.ending)),
    failures: tally(lastFailures.map((failure) => failure.failureClass)),
  };
}
