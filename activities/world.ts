// What every activity works with: the store, the driver, the environment and a log, and small caches over them.
import { ClassifiedError } from '../domain/errors.ts';
import type { Plan } from '../domain/sweep.ts';
import { PlanSchema, SweepSettingsSchema, type SweepSettings } from '../domain/sweep.ts';
import { settingsKey } from '../domain/layout.ts';
import type { Ref } from '../domain/refs.ts';
import type { SandboxDriver } from '../sandbox/port.ts';
import { readJson, readJsonRef } from '../store/objects.ts';
import type { Store } from '../store/port.ts';
import { Cache } from './cache.ts';
import { ModelClients } from './model-clients.ts';
import { Packages } from './packages.ts';
import { SandboxPool } from './sandbox-pool.ts';
import { readStoreId } from '../store/store-id.ts';

/** One line for each unit of work; the worker's logger has this shape. */
export interface Log {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export interface ActivityDeps {
  readonly store: Store;
  readonly driver: SandboxDriver;
  /** The worker's environment: keys of models are read from it by name. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly now: () => Date;
}

/** One activity's own run: which try it is, how it is cancelled, how it says that it lives. */
export interface Run {
  /** From 1. */
  readonly attempt: number;
  readonly signal: AbortSignal;
  readonly heartbeat: (details: Readonly<Record<string, unknown>>) => void;
}

export interface World extends ActivityDeps {
  readonly sandboxes: SandboxPool;
  readonly models: ModelClients;
  readonly packages: Packages;
  readonly plans: Cache<Plan>;
  readonly storeId: () => Promise<string>;
}

export function createWorld(deps: ActivityDeps): World {
  let storeId: Promise<string> | null = null;
  return {
    ...deps,
    sandboxes: new SandboxPool(deps.driver),
    models: new ModelClients(deps.env),
    packages: new Packages(deps.store),
    plans: new Cache(4),
    storeId: async () => {
      storeId ??= readStoreId(deps.store);
      try {
        return await storeId;
      } catch (error) {
        storeId = null;
        throw error;
      }
    },
  };
}

export const readPlanOf = (world: World, plan: Ref): Promise<Plan> =>
  world.plans.get(plan.sha256, () => readJsonRef(world.store, plan, PlanSchema));

/** @throws ClassifiedError ConfigInvalid where the sweep has none */
export async function readSettings(world: World, sweep: string): Promise<SweepSettings> {
  const settings = await readJson(world.store, settingsKey(sweep), SweepSettingsSchema);
  if (settings === null) {
    throw new ClassifiedError('ConfigInvalid', `the store has no settings of sweep ${sweep}: start it again`);
  }
  return settings;
}
