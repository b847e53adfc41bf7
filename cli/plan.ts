// Makes a sweep's plan from what was asked for and what the task folders hold.
import pMap from 'p-map';
import { InputError } from '../domain/errors.ts';
import {
  PlanSchema,
  type Plan,
  type PlannedModel,
  type PlannedScaffold,
  type PlannedTask,
} from '../domain/sweep.ts';
import type { Limits } from '../domain/task.ts';
import { slugOf } from '../domain/slug.ts';
import { scaffoldNamed } from '../scaffolds/index.ts';
import type { Store } from '../store/port.ts';
import { digestOf } from '../tasks/digest.ts';
import { packTask } from '../tasks/package.ts';
import { readTaskSet, type SetTask, type TaskSet } from '../tasks/task-set.ts';
import { lacksOf } from '../worker/drivers.ts';
import { placeOf } from './check.ts';
import type { ModelRequest, SweepRequest } from './sweep-request.ts';

const packersAtOnce = 4;

function overridesOf(limits: SweepRequest['limits']): Partial<Record<keyof Limits, number>> {
  const named: Record<keyof Limits, number | undefined> = {
    agentSec: limits.agent_sec,
    verifierSec: limits.verifier_sec,
    setupSec: limits.setup_sec,
    cpus: limits.cpus,
    memoryMiB: limits.memory_mb,
    diskMiB: limits.storage_mb,
    pids: limits.pids,
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}

function tokensInOf({ tokens_in: asked }: ModelRequest): Pick<PlannedModel, 'tokensIn'> {
  if (asked === false) return {};
  return { tokensIn: { thinkTags: asked === true ? null : asked.think_tags } };
}

function planModel(model: ModelRequest, attempts: number): PlannedModel {
  const { revision, sampling } = model;
  const tokensIn = tokensInOf(model);
  return {
    name: model.name,
    slug: slugOf(model.name),
    revision,
    sampling,
    ...tokensIn,
    digest: digestOf({ revision, sampling, ...tokensIn }),
    attempts: model.attempts ?? attempts,
    nominalTokensPerSecond: model.nominal_tokens_per_second,
  };
}

function planScaffold(request: SweepRequest['scaffolds'][number]): PlannedScaffold {
  const scaffold = scaffoldNamed(request.name);
  const options = scaffold.parseOptions(request.options);
  return {
    name: scaffold.name,
    slug: slugOf(scaffold.name),
    version: scaffold.version,
    options,
    digest: digestOf({ name: scaffold.name, version: scaffold.version, options }),
  };
}

/** @throws InputError where a scaffold's tool calls would come as text: in ids no server parses them. */
function checkTokensIn(models: readonly PlannedModel[], scaffolds: readonly PlannedScaffold[]): void {
  const model = models.find(({ tokensIn }) => tokensIn !== undefined);
  const scaffold = scaffolds.find(({ name }) => scaffoldNamed(name).offersTools === true);
  if (model === undefined || scaffold === undefined) return;
  throw new InputError(
    `model ${model.name}: tokens_in does not go with the scaffold ${scaffold.name}: tool calls are parsed by the server, and where it is sent ids it parses none; leave tokens_in out, or take another scaffold`,
  );
}

/** @throws InputError where two things of a plan would have one name. */
function checkUnique(kind: string, names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new InputError(`${kind} "${twice}" is named twice: a plan names each once`);
}

async function planTask(read: SetTask, request: SweepRequest, store: Store): Promise<PlannedTask> {
  const { task, digest, solutionDigest } = read;
  return {
    id: task.name,
    slug: slugOf(task.name),
    digest,
    solutionDigest,
    gateKey: digestOf({
      task: digest,
      solution: solutionDigest,
      driver: request.sandbox,
      network: request.network,
      environmentMode: task.environmentMode,
      rewardKey: request.reward_key,
    }),
    package: await store.putBlob(packTask(read)),
    task,
    warnings: read.messages.map((message) => `${placeOf(message)}: ${message.reason}`),
  };
}

/** The task set as a request wants it read. */
export async function readRequestedTasks(request: SweepRequest, env: NodeJS.ProcessEnv): Promise<TaskSet> {
  const lacks = lacksOf(request.sandbox);
  return await readTaskSet(request.tasks, {
    strict: request.strict,
    overrides: overridesOf(request.limits),
    env,
    unsupported: (task) => lacks(task, request.network),
  });
}

/** A name for a sweep that was given none: the same request over the same tasks gets the same name. */
function derivedName(plan: Omit<Plan, 'sweep'>, tasksDir: string): string {
  const folder = slugOf(
    tasksDir
      .split('/')
      .filter((part) => part !== '')
      .at(-1) ?? 'tasks',
  );
  const identity = {
    ...plan,
    tasks: plan.tasks.map(({ id, digest, solutionDigest }) => ({ id, digest, solutionDigest })),
  };
  return `${plan.models.length === 0 ? 'audit-' : ''}${folder.slice(0, 60)}-${digestOf(identity).slice(0, 8)}`;
}

/**
 * The plan that a request makes of its task set as it is now. Task folders are packed into the store: what the sweep
 * grades, whatever happens to the folders.
 * @throws InputError where a name, a scaffold or an option does not fit, or nothing can be planned.
 */
export async function makePlan(request: SweepRequest, set: TaskSet, store: Store): Promise<Plan> {
  const models = request.models.map((model) => planModel(model, request.attempts));
  const scaffolds = request.scaffolds.map(planScaffold);
  checkTokensIn(models, scaffolds);
  checkUnique(
    'model',
    models.map(({ slug }) => slug),
  );
  checkUnique(
    'scaffold',
    scaffolds.map(({ slug }) => slug),
  );
  checkUnique(
    'task',
    set.tasks.map(({ task }) => slugOf(task.name)),
  );
  const plan = {
    format: 'passband.plan' as const,
    version: 1 as const,
    tasks: await pMap(set.tasks, (task) => planTask(task, request, store), { concurrency: packersAtOnce }),
    models,
    scaffolds,
    rejected: [...set.rejected],
    driver: request.sandbox,
    network: request.network,
    clock: request.clock,
    unaudited: request.unaudited,
    rewardKey: request.reward_key,
    offlineBuild: request.offline_build,
  };
  const sweep = request.name ?? derivedName(plan, request.tasks);
  return PlanSchema.parse({ ...plan, sweep });
}
