// A sweep's plan and settings in the store: written once, gone on with where they are the same, refused where not.
import { InputError } from '../domain/errors.ts';
import { planKey } from '../domain/layout.ts';
import type { Ref } from '../domain/refs.ts';
import { PlanSchema, type Plan, type SweepSettings } from '../domain/sweep.ts';
import { putJsonOnce, readJsonAndRef } from '../store/objects.ts';
import type { Store } from '../store/port.ts';
import { putSweepSettings, readSweepSettings } from '../store/settings.ts';
import { differences } from './plan-difference.ts';
import type { ModelRequest, SweepRequest } from './sweep-request.ts';

export interface StoredPlan {
  readonly plan: Plan;
  readonly ref: Ref;
  /** It was there before. */
  readonly resumed: boolean;
}

/**
 * The plan that stands under the name of `plan`; null where there is none. Writes nothing.
 * @throws InputError where it is another one, with the difference.
 */
export async function standingPlan(store: Store, plan: Plan): Promise<StoredPlan | null> {
  const there = await readJsonAndRef(store, planKey(plan.sweep), PlanSchema);
  if (there === null) return null;
  const found = differences(there.value, plan);
  if (found.length > 0) {
    const more = found.length > 5 ? ` (and ${found.length - 5} more)` : '';
    throw new InputError(
      `sweep ${plan.sweep} has another plan in ${store.url}: ${found.slice(0, 5).join('; ')}${more}. Give this one another --name, or ask for the same plan to go on`,
    );
  }
  return { plan: there.value, ref: there.ref, resumed: true };
}

/**
 * Writes a plan once, or goes on with the one that is there.
 * @throws InputError where another plan has the name, with the difference.
 */
export async function keepPlan(store: Store, plan: Plan): Promise<StoredPlan> {
  const before = await standingPlan(store, plan);
  if (before !== null) return before;
  const written = await putJsonOnce(store, planKey(plan.sweep), PlanSchema, plan);
  if (written.written) return { plan, ref: written.ref, resumed: false };
  const there = await standingPlan(store, plan);
  if (there === null)
    throw new InputError(
      `the plan of sweep ${plan.sweep} was removed from ${store.url} just now: run this again`,
    );
  return there;
}

/** @throws InputError where the sweep's known-rate models were started with another seed. */
export async function checkSeed(store: Store, sweep: string, seed: number): Promise<void> {
  const before = await readSweepSettings(store, sweep);
  if (before === null || before.seed === null || before.seed === seed) return;
  throw new InputError(
    `sweep ${sweep} was started with --seed ${before.seed}: what its known-rate models mean may not change on the way`,
  );
}

/** Where a model is asked. @throws InputError where it has no endpoint. */
function endpointOf(model: ModelRequest, knownRateUrl: string | null): SweepSettings['endpoints'][string] {
  const urls = model.endpoint ?? (knownRateUrl === null ? null : [knownRateUrl]);
  if (urls === null)
    throw new InputError(`model ${model.name} has no endpoint: say --model ${model.name}=URL`);
  const { served_name: servedName, key_env: apiKeyEnv, max_requests: maxRequests } = model;
  return { urls, servedName, apiKeyEnv, maxRequests };
}

export interface SettingsExtras {
  /** Where this process serves the known-rate models; null: it serves none. */
  readonly knownRateUrl: string | null;
  readonly seed: number;
  /** Null: those of the start before stay. */
  readonly splits: ReadonlyMap<string, string> | null;
}

/** Replaces the settings of a sweep: what may change while it runs. */
export async function putSettings(
  store: Store,
  sweep: string,
  request: SweepRequest,
  { knownRateUrl, seed, splits }: SettingsExtras,
): Promise<SweepSettings> {
  const before = await readSweepSettings(store, sweep);
  const settings: SweepSettings = {
    format: 'passband.settings',
    version: 2,
    concurrency: request.concurrency,
    endpoints: Object.fromEntries(
      request.models.map((model) => [model.name, endpointOf(model, knownRateUrl)]),
    ),
    seed: knownRateUrl === null ? (before?.seed ?? null) : seed,
    splits: splits === null ? (before?.splits ?? {}) : Object.fromEntries(splits),
  };
  await putSweepSettings(store, sweep, settings);
  return settings;
}

/** Replaces the splits alone, of a sweep that has its settings. */
export async function putSplits(
  store: Store,
  sweep: string,
  splits: ReadonlyMap<string, string>,
): Promise<void> {
  const before = await readSweepSettings(store, sweep);
  if (before !== null)
    await putSweepSettings(store, sweep, { ...before, splits: Object.fromEntries(splits) });
}
