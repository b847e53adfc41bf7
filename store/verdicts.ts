// What a sweep left in the store: its plan, its gate records and its verdicts, read many at once, in the plan's order.
import { pMapIterable } from 'p-map';
import type { z } from 'zod';
import { InputError } from '../domain/errors.ts';
import {
  planKey,
  refusalKey,
  refusalsPrefix,
  sweepGateKey,
  sweepsPrefix,
  trialName,
  verdictKey,
} from '../domain/layout.ts';
import {
  countTrials,
  PlanSchema,
  shapeOf,
  trialInPlan,
  type Plan,
  type PlannedTask,
  type TrialInPlan,
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
      `no sweep "${sweep}" in ${store.url}: passband sweep list --store '${store.url}' shows those that are there`,
    );
  }
  return plan;
}

/**
 * What became of each task of a plan at its gate, by the task's id, as much of it as the schema takes: the record that
 * the sweep stands on, else its last refusal. Tasks whose gate is still to come have none.
 */
export async function readGates<T>(
  store: Store,
  { sweep, tasks }: Pick<Plan, 'sweep' | 'tasks'>,
  schema: z.ZodType<T>,
): Promise<ReadonlyMap<string, T>> {
  const read = async ({ slug }: PlannedTask): Promise<T | null> =>
    (await readJson(store, sweepGateKey(sweep, slug), schema)) ??
    (await readJson(store, refusalKey(sweep, slug), schema));
  const records = pMapIterable(tasks, async (task) => [task.id, await read(task)] as const, {
    concurrency: readsAtOnce,
  });
  const found = new Map<string, T>();
  for await (const [task, record] of records) if (record !== null) found.set(task, record);
  return found;
}

/** Whether a task of a sweep was refused for what may have been mended since: its gate is tried again. */
export async function hasRefusals(store: Store, sweep: string): Promise<boolean> {
  const prefix = refusalsPrefix(sweep);
  for await (const { key } of store.list(prefix)) {
    const task = key.slice(prefix.length).replace(/\.json$/, '');
    if ((await store.get(sweepGateKey(sweep, task))) === null) return true;
  }
  return false;
}

/** Every trial of a plan, in its order. */
export function* trialsOf(plan: Plan): Generator<TrialInPlan> {
  const count = countTrials(shapeOf(plan));
  for (let index = 0; index < count; index += 1) yield trialInPlan(plan, index);
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
