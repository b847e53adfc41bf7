// From verdicts to labels: one row a (task, model, scaffold), the same whatever order the verdicts come in.
import { z } from 'zod';
import { bandOf, type Band } from '../domain/bands.ts';
import { InputError } from '../domain/errors.ts';
import { GateRecordSchema } from '../domain/gate.ts';
import type { PlannedModel, PlannedScaffold, PlannedTask } from '../domain/sweep.ts';
import { VerdictSchema, type TrialIdentity } from '../domain/verdict.ts';
import { centralMass } from './central.ts';
import { coverageOf } from './coverage.ts';
import { wilsonInterval } from './wilson.ts';

/** As much of a verdict as a label needs: the rest is not parsed, but its format and version are. */
export const VerdictRowSchema = z.object({
  format: VerdictSchema.shape.format,
  version: VerdictSchema.shape.version,
  trial: VerdictSchema.shape.trial,
  result: VerdictSchema.shape.result,
});
export type VerdictRow = z.infer<typeof VerdictRowSchema>;

/** As much of a gate record as a label needs. */
export const GateRowSchema = z.object({
  format: GateRecordSchema.shape.format,
  version: GateRecordSchema.shape.version,
  outcome: GateRecordSchema.shape.outcome,
  reason: GateRecordSchema.shape.reason,
  message: GateRecordSchema.shape.message,
  oracleVerified: GateRecordSchema.shape.oracleVerified,
});
type GateRow = z.infer<typeof GateRowSchema>;

/** As much of a plan as labels need. */
export interface LabelPlan {
  readonly sweep: string;
  readonly tasks: readonly Pick<PlannedTask, 'id' | 'digest'>[];
  readonly models: readonly Pick<PlannedModel, 'name' | 'revision' | 'digest' | 'attempts'>[];
  readonly scaffolds: readonly Pick<PlannedScaffold, 'name' | 'digest'>[];
}

/** A line of labels.jsonl: the field names are those that readers of such files know. */
export interface Label {
  readonly task: string;
  readonly model: string;
  readonly scaffold: string;
  /** passes / n_counted; null where nothing counted, as the interval is. */
  readonly pass_rate: number | null;
  readonly band: Band;
  readonly n_counted: number;
  readonly k: number;
  readonly split: string;
  readonly oracle_verified: boolean;
  readonly passes: number;
  readonly ci_low: number | null;
  readonly ci_high: number | null;
  readonly p_central: number;
  /** n_counted / k, and the bounds that missing, disputed and unstable trials allow. */
  readonly coverage: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly disputed: number;
  readonly unstable: number;
  readonly revision: string;
}

/** The split of a task that no file of the user's names. */
const unseenSplit = 'unseen';

export interface LabelInput {
  readonly plan: LabelPlan;
  /** By task. A task whose gate is still to come is planned and unmeasured; a rejected one has no label. */
  readonly gates: ReadonlyMap<string, Pick<GateRow, 'outcome' | 'oracleVerified'>>;
  readonly verdicts: Iterable<Pick<VerdictRow, 'trial' | 'result'>>;
  /** By task. */
  readonly splits?: ReadonlyMap<string, string>;
}

interface Cell {
  readonly task: LabelPlan['tasks'][number];
  readonly model: LabelPlan['models'][number];
  readonly scaffold: LabelPlan['scaffolds'][number];
  readonly gate: Pick<GateRow, 'outcome' | 'oracleVerified'> | undefined;
  readonly attempts: Set<number>;
  passes: number;
  disputed: number;
  unstable: number;
}

/**
 * Labels of a sweep, ordered by task, model, scaffold and revision.
 * @throws InputError that names a verdict which is none of the plan's, or comes twice: rates from such a set would lie.
 */
export function labelsOf({ plan, gates, verdicts, splits = new Map() }: LabelInput): Label[] {
  const cells = cellsOf(plan, gates);
  for (const verdict of verdicts) count(cells, plan.sweep, verdict);
  return [...cells.values()]
    .map((cell) => labelOf(cell, splits.get(cell.task.id) ?? unseenSplit))
    .sort(
      (a, b) =>
        compare(a.task, b.task) ||
        compare(a.model, b.model) ||
        compare(a.scaffold, b.scaffold) ||
        compare(a.revision, b.revision),
    );
}

function cellsOf(plan: LabelPlan, gates: LabelInput['gates']): Map<string, Cell> {
  const cells = new Map<string, Cell>();
  for (const task of plan.tasks) {
    const gate = gates.get(task.id);
    if (gate?.outcome === 'rejected') continue;
    for (const model of plan.models) {
      for (const scaffold of plan.scaffolds) {
        const cell = { task, model, scaffold, gate, attempts: new Set<number>() };
        const key = cellKey([task.id, task.digest, model.name, model.digest, scaffold.name, scaffold.digest]);
        cells.set(key, { ...cell, passes: 0, disputed: 0, unstable: 0 });
      }
    }
  }
  return cells;
}

const cellKey = (parts: readonly string[]): string => JSON.stringify(parts);

function count(
  cells: ReadonlyMap<string, Cell>,
  sweep: string,
  verdict: Pick<VerdictRow, 'trial' | 'result'>,
): void {
  const { trial, result } = verdict;
  const cell = cells.get(
    cellKey([
      trial.task,
      trial.taskDigest,
      trial.model,
      trial.modelDigest,
      trial.scaffold,
      trial.scaffoldDigest,
    ]),
  );
  if (trial.sweep !== sweep || cell === undefined || trial.attempt > cell.model.attempts) {
    throw new InputError(
      `the verdict of ${nameOf(trial)} belongs to no planned trial of sweep ${sweep}: take it out, or name its own sweep`,
    );
  }
  if (cell.attempts.has(trial.attempt)) {
    throw new InputError(`there are two verdicts of ${nameOf(trial)}: a trial counts once`);
  }
  cell.attempts.add(trial.attempt);
  switch (result) {
    case 'passed':
      cell.passes += 1;
      break;
    case 'disputed':
      cell.disputed += 1;
      break;
    case 'unstable':
      cell.unstable += 1;
      break;
    case 'failed':
      break;
  }
}

const nameOf = (trial: TrialIdentity): string =>
  `${trial.sweep}: task ${trial.task}, model ${trial.model}, scaffold ${trial.scaffold}, attempt ${trial.attempt}`;

function labelOf(cell: Cell, split: string): Label {
  const { task, model, scaffold, gate, passes, disputed, unstable } = cell;
  const counted = cell.attempts.size;
  const interval = wilsonInterval(passes, counted);
  const { coverage, rate, low, high } = coverageOf({
    planned: model.attempts,
    counted,
    passes,
    disputed,
    unstable,
  });
  return {
    task: task.id,
    model: model.name,
    scaffold: scaffold.name,
    pass_rate: rate,
    band: bandOf(passes, counted),
    n_counted: counted,
    k: model.attempts,
    split,
    oracle_verified: gate?.oracleVerified ?? false,
    passes,
    ci_low: interval?.low ?? null,
    ci_high: interval?.high ?? null,
    p_central: centralMass(passes, counted),
    coverage,
    low,
    high,
    disputed,
    unstable,
    revision: model.revision,
  };
}

/** By code unit, so that the order is the same in every locale. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
