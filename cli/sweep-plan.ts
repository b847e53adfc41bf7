// A sweep's plan and settings in the store: written once, gone on with where they are the same, refused where not.
import { InputError } from '../domain/errors.ts';
import { planKey } from '../domain/layout.ts';
import type { Ref } from '../domain/refs.ts';
import { PlanSchema, type Plan, type SweepSettings } from '../domain/sweep.ts';
import { putJsonOnce, readJson, refOf } from '../store/objects.ts';
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

async function storedPlan(
  store: Store,
  sweep: string,
): Promise<{ readonly plan: Plan; readonly ref: Ref } | null> {
  const plan = await readJson(store, planKey(sweep), PlanSchema);
  const bytes = plan === null ? null : await store.get(planKey(sweep));
  return plan === null || bytes === null ? null : { plan, ref: refOf(planKey(sweep), bytes) };
}

/**
 * Writes a plan once, or goes on with the one that is there.
 * @throws InputError where another plan has the name, with the difference.
 */
export async function keepPlan(store: Store, plan: Plan): Promise<StoredPlan> {
  let there = await storedPlan(store, plan.sweep);
  if (there === null) {
    const written = await putJsonOnce(store, planKey(plan.sweep), PlanSchema, plan);
    if (written.written) return { plan, ref: written.ref, resumed: false };
    there = await storedPlan(store, plan.sweep);
  }
  if (there === null)
    throw new InputError(
      `the plan of sweep ${plan.sweep} was removed from ${store.url} just now: run this again`,
    );
  const found = differences(there.plan, plan);
  if (found.length > 0) {
    const more = found.length > 5 ? ` (and ${found.length - 5} more)` : '';
    throw new InputError(
      `sweep ${plan.sweep} has another plan in ${store.url}: ${found.slice(0, 5).join('; ')}${more}. Give this one another --name, or ask for the same plan to go on`,
    );
  }
  return { ...there, resumed: true };
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
  if (knownRateUrl !== null && before !== null && before.seed !== null && before.seed !== seed) {
    throw new InputError(
      `sweep ${sweep} was started with --seed ${before.seed}: what its known-rate models mean may not change on the way`,
    );
  }
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
