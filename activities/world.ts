// What every activity works with: the store, the driver, the environment and a log, and small caches over them.
import { ClassifiedError, ObjectError } from '../domain/errors.ts';
import type { GateRecord } from '../domain/gate.ts';
import type { Plan } from '../domain/sweep.ts';
import { PlanSchema, type SweepSettings } from '../domain/sweep.ts';
import type { Ref } from '../domain/refs.ts';
import type { SandboxDriver } from '../sandbox/port.ts';
import { readJsonRef } from '../store/objects.ts';
import type { Store } from '../store/port.ts';
import { readSweepSettings } from '../store/settings.ts';
import { Cache } from './cache.ts';
import type { Log } from './log.ts';
import { Surveys } from './egress/surveys.ts';
import { ModelClients } from './model-clients.ts';
import { Packages } from './packages.ts';
import { SandboxPool } from './sandbox-pool.ts';
import { readStoreId } from '../store/store-id.ts';

export interface ActivityDeps {
  readonly store: Store;
  readonly driver: SandboxDriver;
  /** The worker's environment: keys of models are read from it by name. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly now: () => Date;
  /** Trials at once: as many idle connections to sandboxes are kept for their next phase. */
  readonly concurrency: number;
}

/** One activity's own run: which try it is, how it is cancelled, how it says that it lives. */
export interface Run {
  /** From 1, over every asking for this phase: ids of what it starts derive from it. */
  readonly attempt: number;
  /** Id of the workflow that asks for it: kept on its sandboxes, so that none outlives it. */
  readonly workflow: string;
  readonly signal: AbortSignal;
  readonly heartbeat: (details: Readonly<Record<string, unknown>>) => void;
  /** From here on a failure belongs to this phase, where one activity does several. */
  readonly enter: (phase: string) => void;
}

/** Waits of activities that end by themselves. Tests make them short. */
export interface Waits {
  /** Between two looks at a sandbox that runs. */
  readonly sandboxPollMs: number;
  /** For a forger of rewards to show itself: a loop that rewrites a few times a second, or waits for the file to appear. */
  readonly forgeryMs: number;
}

const realWaits: Waits = { sandboxPollMs: 3_000, forgeryMs: 700 };

export interface World extends ActivityDeps {
  readonly waits: Waits;
  readonly sandboxes: SandboxPool;
  readonly models: ModelClients;
  readonly packages: Packages;
  readonly plans: Cache<Plan>;
  /** Gate records of sweeps, by key: each is written once. */
  readonly gates: Cache<GateRecord>;
  readonly storeId: () => Promise<string>;
  readonly surveys: Surveys;
}

export function createWorld(deps: ActivityDeps, waits = realWaits): World {
  const { store, driver, env, now } = deps;
  const storeId = readOnce(() => readStoreId(store));
  const settingsOf = (sweep: string): Promise<SweepSettings> => readSettings(deps, sweep);
  return {
    ...deps,
    waits,
    sandboxes: new SandboxPool(deps.driver, deps.concurrency),
    models: new ModelClients(env, deps.log),
    packages: new Packages(deps.store),
    plans: new Cache(4),
    gates: new Cache(64),
    storeId,
    surveys: new Surveys({ driver, store, storeId, settingsOf, env, now }),
  };
}

/** What is read once and kept; a failure is not kept. */
function readOnce<T>(read: () => Promise<T>): () => Promise<T> {
  let value: Promise<T> | null = null;
  return async () => {
    value ??= read();
    try {
      return await value;
    } catch (error) {
      value = null;
      throw error;
    }
  };
}

export const readPlanOf = (world: World, plan: Ref): Promise<Plan> =>
  world.plans.get(plan.sha256, () => configured(readJsonRef(world.store, plan, PlanSchema)));

/** Every trial stands on a sweep's plan and settings: where those cannot be read, the operator has to mend it. */
async function configured<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof ObjectError)) throw error;
    throw new ClassifiedError('ConfigInvalid', error.message, { cause: error });
  }
}

/** @throws ClassifiedError ConfigInvalid where the sweep has none */
export async function readSettings(world: Pick<World, 'store'>, sweep: string): Promise<SweepSettings> {
  const settings = await configured(readSweepSettings(world.store, sweep));
  if (settings === null) {
    throw new ClassifiedError('ConfigInvalid', `the store has no settings of sweep ${sweep}: start it again`);
  }
  return settings;
}
