// What a sweep left in the store: its plan, its gate records and its verdicts, read many at once, in the plan's order.
import { pMapIterable } from 'p-map';
import type { z } from 'zod';
import { InputError } from '../domain/errors.ts';
import { gateKeyOf, planKey, sweepsPrefix, trialName, verdictKey, type TrialPath } from '../domain/layout.ts';
import {
  countTrials,
  PlanSchema,
  shapeOf,
  trialAt,
  type Plan,
  type PlannedModel,
  type PlannedScaffold,
  type PlannedTask,
} from '../domain/sweep.ts';
import type { TrialIdentity } from '../domain/verdict.ts';
import { readJson } from './objects.ts';
import type { Store } from './port.ts';

/** Objects asked for at once: a store far away is slow one by one, and one on a disk gains nothing beyond. */
const readsAtOnce = 32;

/** Names of the sweeps that have a plan in the store, in the order of their keys. */
export async function* listSweeps(store: Store): AsyncGenerator<string> {
  for await (const folder of store.listFolders(sweepsPrefix)) {
    const sweep = folder.slice(sweepsPrefix.length, -1);
    for await (const { key } of store.list(planKey(sweep))) {
      if (key === planKey(sweep)) yield sweep;
    }
  }
}

/** A sweep's plan. @throws InputError where the store has none. */
export async function readPlan(store: Store, sweep: string): Promise<Plan> {
  const plan = await readJson(store, planKey(sweep), PlanSchema);
  if (plan === null) {
    throw new InputError(
      `no sweep "${sweep}" in ${store.url}: passband sweep list shows those that are there`,
    );
  }
  return plan;
}

/** The gate record under a key, as much of it as the schema takes; null where the gate has not been passed yet. */
function readGate<T>(store: Store, gateKey: string, schema: z.ZodType<T>): Promise<T | null> {
  return readJson(store, gateKeyOf(gateKey), schema);
}

/** The gate records of a plan by their keys; tasks whose gate is still to come have none. */
export async function readGates<T>(
  store: Store,
  plan: Pick<Plan, 'tasks'>,
  schema: z.ZodType<T>,
): Promise<ReadonlyMap<string, T>> {
  const keys = new Set(plan.tasks.map((task) => task.gateKey));
  const records = pMapIterable(keys, async (key) => [key, await readGate(store, key, schema)] as const, {
    concurrency: readsAtOnce,
  });
  const found = new Map<string, T>();
  for await (const [key, record] of records) if (record !== null) found.set(key, record);
  return found;
}

/** A trial of a plan with all that its identity is made of. */
export interface TrialInPlan {
  readonly index: number;
  readonly path: TrialPath;
  readonly task: PlannedTask;
  readonly model: PlannedModel;
  readonly scaffold: PlannedScaffold;
  readonly attempt: number;
}

/** Every trial of a plan, in its order. */
export function* trialsOf(plan: Plan): Generator<TrialInPlan> {
  const shape = shapeOf(plan);
  const count = countTrials(shape);
  for (let index = 0; index < count; index += 1) {
    const at = trialAt(shape, index);
    const [task, model, scaffold] = [plan.tasks[at.task], plan.models[at.model], plan.scaffolds[at.scaffold]];
    if (task === undefined || model === undefined || scaffold === undefined) {
      throw new RangeError(`no trial at position ${index} of this plan`);
    }
    const path = {
      sweep: plan.sweep,
      task: task.slug,
      model: model.slug,
      scaffold: scaffold.slug,
      attempt: at.attempt,
    };
    yield { index, path, task, model, scaffold, attempt: at.attempt };
  }
}

export interface StoredVerdict<T> {
  readonly trial: TrialInPlan;
  readonly verdict: T;
}

/**
 * The verdicts of a plan's trials, as much of each as the schema takes, in the plan's order; trials without one are
 * left out. Asks for each by its key: a listing would go through every turn record of the sweep.
 * @throws InputError that names the object where it is not a verdict of this version, or another trial's.
 */
export async function* readVerdicts<T extends { readonly trial: TrialIdentity }>(
  store: Store,
  plan: Plan,
  schema: z.ZodType<T>,
): AsyncGenerator<StoredVerdict<T>> {
  const found = pMapIterable(
    trialsOf(plan),
    async (trial) => ({ trial, verdict: await readJson(store, verdictKey(trial.path), schema) }),
    { concurrency: readsAtOnce },
  );
  for await (const { trial, verdict } of found) {
    if (verdict === null) continue;
    const other = differenceOf(verdict.trial, plan.sweep, trial);
    if (other !== null) {
      throw new InputError(
        `stored object ${verdictKey(trial.path)} is not the verdict of ${plan.sweep}/${trialName(trial.path)}: ${other}`,
      );
    }
    yield { trial, verdict };
  }
}

function differenceOf(stored: TrialIdentity, sweep: string, planned: TrialInPlan): string | null {
  const { task, model, scaffold, attempt } = planned;
  const expected: Partial<TrialIdentity> = {
    sweep,
    task: task.id,
    taskDigest: task.digest,
    model: model.name,
    modelDigest: model.digest,
    scaffold: scaffold.name,
    scaffoldDigest: scaffold.digest,
    attempt,
  };
  for (const [name, value] of Object.entries(expected)) {
    const there = stored[name as keyof TrialIdentity];
    if (there !== value) return `its ${name} is ${there}, planned is ${value}`;
  }
  return null;
}
