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

/** A gate's rejection in the shape of the reader's. */
export function gateRejection(task: string, gate: GateRecord): Rejection | null {
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
  const atGate = plan.tasks.flatMap((task) => {
    const gate = gates.get(task.id);
    const rejection = gate === undefined ? null : gateRejection(task.id, gate);
    return rejection === null ? [] : [rejection];
  });
  const kept = { ...shapeOf(plan), tasks: plan.tasks.length - atGate.length };
  const planned = countTrials(kept);
  return {
    sweep: plan.sweep,
    planned,
    counted: verdicts.length,
    coverage: planned === 0 ? 0 : verdicts.length / planned,
    rejected: [...plan.rejected, ...atGate],
    results: tally(verdicts.map((verdict) => verdict.result)),
    endings: tally(verdicts.map((verdict) => verdict.ending)),
    failures: tally(lastFailures.map((failure) => failure.failureClass)),
  };
}
