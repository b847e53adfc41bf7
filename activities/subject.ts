// A subject resolved: which trial of the plan, or which side of which gate, and where its generation writes.
import { ClassifiedError } from '../domain/errors.ts';
import { gatePrefix, generationPrefix, trialName, trialPrefix, type TrialPath } from '../domain/layout.ts';
import {
  trialInPlan,
  type Plan,
  type PlannedModel,
  type PlannedScaffold,
  type PlannedTask,
} from '../domain/sweep.ts';
import type { Step } from '../domain/task.ts';
import type { TrialIdentity } from '../domain/verdict.ts';
import type { Subject } from './types.ts';
import { readPlanOf, type World } from './world.ts';

/** Who acts in the sandbox: a planned model under a planned scaffold, or a side of the gate. */
export type Actor =
  | {
      readonly kind: 'model';
      readonly model: PlannedModel;
      readonly scaffold: PlannedScaffold;
      readonly trial: TrialPath;
    }
  | {
      readonly kind: 'gate';
      readonly agent: 'oracle' | 'nop';
      readonly environmentMode: 'shared' | 'separate';
    };

export interface Grading {
  readonly plan: Plan;
  readonly task: PlannedTask;
  readonly actor: Actor;
  readonly generation: number;
  /** Folder of all generations, and of this one, in the store. */
  readonly owner: string;
  readonly prefix: string;
  /** What this is called in logs, headers and labels. */
  readonly name: string;
  readonly identity: TrialIdentity;
}

export const taskAt = (plan: Plan, index: number): PlannedTask => itemAt(plan.tasks, index, 'task');

function itemAt<T>(items: readonly T[], index: number, what: string): T {
  const item = items[index];
  if (item === undefined) throw new ClassifiedError('Unexpected', `the plan has no ${what} ${index}`);
  return item;
}

export function stepAt(grading: Pick<Grading, 'task'>, index: number): Step {
  return itemAt(grading.task.task.steps, index, 'step');
}

export const isLastStep = (grading: Pick<Grading, 'task'>, index: number): boolean =>
  index === grading.task.task.steps.length - 1;

export async function resolveSubject(world: World, subject: Subject): Promise<Grading> {
  const plan = await readPlanOf(world, subject.plan);
  return subject.kind === 'trial'
    ? trialGrading(plan, subject.index, subject.generation)
    : gateGrading(plan, subject);
}

export function trialGrading(plan: Plan, index: number, generation: number): Grading {
  const { path: trial, task, model, scaffold, attempt } = trialInPlan(plan, index);
  const owner = trialPrefix(trial);
  return {
    plan,
    task,
    actor: { kind: 'model', model, scaffold, trial },
    generation,
    owner,
    prefix: generationPrefix(owner, generation),
    name: trialName(trial),
    identity: {
      sweep: plan.sweep,
      task: task.id,
      taskDigest: task.digest,
      model: model.name,
      modelRevision: model.revision,
      modelDigest: model.digest,
      scaffold: scaffold.name,
      scaffoldVersion: scaffold.version,
      scaffoldDigest: scaffold.digest,
      attempt,
    },
  };
}

export interface GateSide {
  readonly task: number;
  readonly agent: 'oracle' | 'nop';
  readonly environmentMode: 'shared' | 'separate';
  readonly generation: number;
}

/**
 * The gate's record is shared by all sweeps under its key; each sweep that has to form it runs its sides in folders of
 * its own, so that two sweeps that meet at one gate do not write over each other.
 */
export function gateGrading(
  plan: Plan,
  { task: index, agent, environmentMode, generation }: GateSide,
): Grading {
  const task = taskAt(plan, index);
  const owner = gatePrefix(task.gateKey, `${plan.sweep}/${agent}-${environmentMode}`);
  return {
    plan,
    task,
    actor: { kind: 'gate', agent, environmentMode },
    generation,
    owner,
    prefix: generationPrefix(owner, generation),
    name: `${task.slug}/gate/${agent}-${environmentMode}`,
    identity: {
      sweep: plan.sweep,
      task: task.id,
      taskDigest: task.digest,
      model: 'gate',
      modelRevision: 'none',
      modelDigest: 'none',
      scaffold: agent,
      scaffoldVersion: 'gate',
      scaffoldDigest: 'none',
      attempt: 1,
    },
  };
}
