// One task folder, read whole: the normalised task, its digests, its files, and everything there is to say of it.
import { readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { TaskSchema, type Task } from '../domain/task.ts';
import { composed, type Composed } from './compose/apply.ts';
import { readConfig, type TaskConfig } from './config.ts';
import { digestSolution, digestTask } from './digest.ts';
import { faultOf, isCode } from './disk-faults.ts';
import { missingVariables, type HostEnv } from './env-templates.ts';
import type { SourceFile } from './files.ts';
import { Findings, type Finding, type Place } from './findings.ts';
import { readFolder } from './folder.ts';
import {
  findComposeFiles,
  readImage,
  readVerifierImage,
  type ComposeFiles,
  type ImageContext,
} from './images.ts';
import { layoutOf, type Layout } from './layout.ts';
import { checkOverrides, taskLimits, type LimitOverrides } from './limits.ts';
import { findNeeds, type NeedSource } from './needs.ts';
import type { TaskToml } from './schema.ts';
import { lintDownloads, lintRewards } from './scripts.ts';
import { healthcheckOf, readSteps } from './steps.ts';

export interface ReadOptions {
  /** Unknown keys and tables are errors. */
  readonly strict?: boolean;
  readonly overrides?: LimitOverrides;
  /** Variables that the task's ${VAR} templates are looked up in; values are never kept. */
  readonly env?: HostEnv;
}

export interface ReadTask {
  readonly task: Task;
  /** Absolute. */
  readonly dir: string;
  readonly digest: string;
  /** Null where there is no solution. */
  readonly solutionDigest: string | null;
  /** What packTask packs, pinned by digest. */
  readonly files: readonly SourceFile[];
  readonly needs: readonly NeedSource[];
  /** Where task.toml states the name; the file alone where the folder gives it. */
  readonly named: Place;
}

export interface TaskReading {
  /** Null where a finding is an error. */
  readonly read: ReadTask | null;
  readonly findings: readonly Finding[];
}

/** Reads a task folder. Faults of the task are findings; what is thrown is the machine's (an unreadable disk). */
export async function readTask(dir: string, options: ReadOptions = {}): Promise<TaskReading> {
  checkOverrides(options.overrides ?? {});
  const findings = new Findings(options.strict ?? false);
  const root = resolve(dir);
  const bytes = await readTomlFile(root, findings);
  if (bytes === null) return { read: null, findings: findings.list };
  const folder = await readFolder(root, findings);
  const config = readConfig(bytes, 'task.toml', findings);
  if (config === null) return { read: null, findings: findings.list };

  const layout = layoutOf(root, folder);
  const { task, needs } = await buildTask({ root, config, layout, findings, options });
  if (task === null || findings.failed) return { read: null, findings: findings.list };
  lint(task, layout, findings);
  return {
    read: {
      task,
      dir: root,
      digest: digestTask(task, folder.files),
      solutionDigest: digestSolution(task, folder.files),
      files: folder.files,
      needs,
      named: config.place('task', 'name'),
    },
    findings: findings.list,
  };
}

async function readTomlFile(root: string, findings: Findings): Promise<Uint8Array | null> {
  try {
    return await readFile(join(root, 'task.toml'));
  } catch (error) {
    const fault = isCode(error, 'ENOENT') ? 'is missing: this is no task folder' : faultOf(error);
    if (fault === null) throw error;
    findings.error({ file: 'task.toml' }, fault);
    return null;
  }
}

interface Building extends ImageContext {
  readonly root: string;
  readonly options: ReadOptions;
}

async function buildTask(building: Building): Promise<{ task: Task | null; needs: NeedSource[] }> {
  const { config, layout, findings, options } = building;
  const { toml } = config;
  const overrides = options.overrides ?? {};
  const compose = await findComposeFiles(building);
  const image = await readImage(building, compose);
  const verifierImage = await readVerifierImage(building);
  const steps = await readSteps({ config, layout, findings, overrides, ownsTests: verifierImage !== null });
  const parts = await readParts(building, image, compose);
  // A file that describes one container and no more asks nothing of a driver.
  const several = parts === null || parts.services !== undefined;
  const needs = findNeeds(building, several ? compose : { ...compose, environment: null });
  checkTemplates(config, options.env ?? {}, findings);
  sayUnused(config, findings);
  const mode = readEnvironmentMode(config, verifierImage !== null, findings);
  if (parts === null || parts.image === null) return { task: null, needs };

  const declared = declaredNetworks(toml);
  const task: Task = {
    name: toml.task.name ?? basename(building.root),
    description: toml.task.description,
    image: parts.image,
    buildTimeoutSec:
      toml.environment.build_timeout_sec === undefined
        ? { value: defaultBuildTimeoutSec, setBy: 'default' }
        : { value: toml.environment.build_timeout_sec, setBy: 'task' },
    verifierImage,
    environmentMode: mode,
    networkMode: toml.agent.network_mode ?? environmentNetwork(toml.environment) ?? 'no-network',
    networkDeclared: declared.some((network) => network !== 'no-network'),
    env: { ...parts.env },
    workdir: parts.workdir,
    healthcheck: healthcheckOf(toml.environment.healthcheck),
    solutionEnv: toml.solution.env,
    limits: parts.limits,
    collect: [toml.verifier, ...toml.steps.map((step) => step.verifier)].flatMap((verifier) =>
      verifier.collect.map((hook) => ({
        command: hook.command,
        service: hook.service,
        timeoutSec: hook.timeout_sec,
        user: hook.user ?? null,
      })),
    ),
    rewardStrategy: toml.multi_step_reward_strategy ?? 'mean',
    multiStep: toml.steps.length > 0,
    steps,
    ...(parts.services === undefined ? {} : { services: parts.services }),
    needs: needs.map(({ need }) => need),
  };
  return { task: TaskSchema.parse(task), needs };
}

/** What task.toml and the folder say, and where there is a compose file what it adds to that. */
async function readParts(
  { config, layout, findings, options }: Building,
  image: Task['image'] | null,
  compose: ComposeFiles,
): Promise<Composed | null> {
  const { toml } = config;
  const overrides = options.overrides ?? {};
  const own = {
    image,
    limits: taskLimits(toml, overrides),
    env: toml.environment.env,
    workdir: toml.environment.workdir ?? null,
  };
  if (compose.verifier !== null) {
    const why = 'a verifier is one container: name its image in [verifier.environment]';
    findings.error({ file: compose.verifier }, `compose: services of the verifier: ${why}`, 'unsupported');
  }
  return compose.environment === null
    ? { ...own, services: undefined }
    : composed({ path: compose.environment, layout, findings, overrides }, own);
}

const defaultBuildTimeoutSec = 600;

function environmentNetwork(table: TaskToml['environment']): Task['networkMode'] | undefined {
  if (table.network_mode !== undefined) return table.network_mode;
  if (table.allow_internet === undefined) return undefined;
  return table.allow_internet ? 'public' : 'no-network';
}

function declaredNetworks(toml: TaskToml): Task['networkMode'][] {
  const tables = [toml.agent, toml.verifier, ...toml.steps.flatMap((step) => [step.agent, step.verifier])];
  return [
    environmentNetwork(toml.environment),
    toml.verifier.environment && environmentNetwork(toml.verifier.environment),
    ...tables.map((table) => table.network_mode),
  ].filter((network) => network !== undefined);
}

/** A verifier's own environment or image implies separate; steps must agree with the task and each other. */
function readEnvironmentMode(
  { toml, place }: TaskConfig,
  ownImage: boolean,
  findings: Findings,
): Task['environmentMode'] {
  const modeOf = (verifier: TaskToml['verifier']): Task['environmentMode'] =>
    verifier.environment_mode ?? (verifier.environment === undefined ? null : 'separate');
  let mode = modeOf(toml.verifier) ?? (ownImage ? 'separate' : null);
  toml.steps.forEach((step, index) => {
    const own = modeOf(step.verifier);
    if (own === null) return;
    if (mode !== null && mode !== own) {
      const at: Place = place('steps', index, 'verifier', 'environment_mode');
      findings.error(
        at,
        `is ${own} where another is ${mode}: one for the whole task is supported`,
        'unsupported',
      );
    }
    mode = own;
  });
  return mode;
}

function checkTemplates({ toml, place }: TaskConfig, host: HostEnv, findings: Findings): void {
  const tables = [
    { table: toml.environment.env, at: ['environment', 'env'] },
    { table: toml.verifier.env, at: ['verifier', 'env'] },
    { table: toml.verifier.environment?.env ?? {}, at: ['verifier', 'environment', 'env'] },
    { table: toml.solution.env, at: ['solution', 'env'] },
    ...toml.steps.flatMap((step, index) => [
      { table: step.verifier.env, at: ['steps', index, 'verifier', 'env'] },
      {
        table: step.verifier.environment?.env ?? {},
        at: ['steps', index, 'verifier', 'environment', 'env'],
      },
    ]),
  ];
  for (const { table, at } of tables) {
    for (const { key, variable } of missingVariables(table, host)) {
      findings.error(
        place(...at, key),
        `needs the variable ${variable}: set it, or give a default \${${variable}:-...}`,
      );
    }
  }
}

const unused = ['cpus', 'memory_mb', 'memory', 'storage_mb', 'storage', 'workdir', 'healthcheck'] as const;

/** A verifier's sandbox has the limits of the task's own: what its table says otherwise is read, and said. */
function sayUnused({ toml, place }: TaskConfig, findings: Findings): void {
  for (const key of unused) {
    if (toml.verifier.environment?.[key] === undefined) continue;
    findings.warn(
      place('verifier', 'environment', key),
      'has no effect: the verifier has what [environment] says',
    );
  }
}

function lint(task: Task, layout: Layout, findings: Findings): void {
  const { texts } = layout.folder;
  lintDownloads(texts, findings);
  if (task.verifierImage !== null || task.needs.includes('windows')) return;
  const linted = new Set<string>();
  for (const step of task.steps) {
    const script = [...step.testsDirs]
      .reverse()
      .map((dir) => `${dir}/test.sh`)
      .find((path) => texts.has(path));
    if (script === undefined || linted.has(script)) continue;
    linted.add(script);
    const seen = [...texts].filter(([path]) => step.testsDirs.some((dir) => path.startsWith(`${dir}/`)));
    lintRewards(new Map(seen), script, findings);
  }
}
