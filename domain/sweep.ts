// A sweep's plan: what is graded, in which order. Identity and order only: endpoints, concurrency and time are no part of it.
import { z } from 'zod';
import { rejectionReasons } from './failures.ts';
import type { TrialPath } from './layout.ts';
import { trialAt, type PlanShape } from './order.ts';
import { RefSchema } from './refs.ts';
import { TaskSchema } from './task.ts';

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const slug = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/);

export const PlannedTaskSchema = z.strictObject({
  id: z.string().min(1),
  /** The id made safe for keys and labels, unique in the plan. */
  slug,
  /** Digest of what acts on a trial: instruction, environment, verifier, acting task.toml values. */
  digest,
  solutionDigest: digest.nullable(),
  /** What a gate's runs depend on beside the images: one a (task, solution, driver, network, environment mode, reward key). */
  gateKey: digest,
  /** The whole folder as a canonical tar: what the sweep grades, whatever happens to the folder. */
  package: RefSchema,
  task: TaskSchema,
  warnings: z.array(z.string()),
});
export type PlannedTask = z.infer<typeof PlannedTaskSchema>;

/** Sampling and template settings sent with each request: part of a model's identity. */
export const SamplingSchema = z.strictObject({
  temperature: z.number().min(0).optional(),
  topP: z.number().gt(0).max(1).optional(),
  topK: z.int().optional(),
  maxTokens: z.int().positive().optional(),
  seed: z.int().optional(),
  reasoningEffort: z.string().optional(),
  chatTemplateKwargs: z.record(z.string(), z.unknown()).optional(),
});
export type Sampling = z.infer<typeof SamplingSchema>;

/**
 * Prompts go to the server as ids, each beginning with all that was said and sampled before it (docs/token-ids.md). The
 * server then keeps no thinking apart: `thinkTags` are the two texts that it stands between; null: it stays in the text.
 */
export const TokensInSchema = z.strictObject({
  thinkTags: z.tuple([z.string().min(2), z.string().min(2)]).nullable(),
});
export type TokensIn = z.infer<typeof TokensInSchema>;

export const PlannedModelSchema = z.strictObject({
  name: z.string().min(1),
  slug,
  /** Digest of weights where the server tells it, else what the user states, else `unstated`. */
  revision: z.string().min(1),
  sampling: SamplingSchema,
  /** Absent: chat, by text. */
  tokensIn: TokensInSchema.optional(),
  /** Digest of revision and sampling, and of tokensIn where it is there. */
  digest,
  /** k: attempts of each task by this model. */
  attempts: z.int().positive(),
  /** Tokens a second that the nominal clock charges; null: no nominal time. */
  nominalTokensPerSecond: z.number().positive().nullable(),
});
export type PlannedModel = z.infer<typeof PlannedModelSchema>;

export const PlannedScaffoldSchema = z.strictObject({
  name: z.string().min(1),
  slug,
  version: z.string().min(1),
  options: z.record(z.string(), z.unknown()),
  digest,
});
export type PlannedScaffold = z.infer<typeof PlannedScaffoldSchema>;

export const RejectionSchema = z.strictObject({
  task: z.string(),
  file: z.string().nullable(),
  key: z.string().nullable(),
  line: z.int().nullable(),
  reason: z.enum(rejectionReasons),
  message: z.string(),
});
export type Rejection = z.infer<typeof RejectionSchema>;

export const PlanSchema = z.strictObject({
  format: z.literal('passband.plan'),
  version: z.literal(1),
  sweep: slug,
  tasks: z.array(PlannedTaskSchema),
  /** None: an audit, the gates alone. */
  models: z.array(PlannedModelSchema),
  scaffolds: z.array(PlannedScaffoldSchema).min(1),
  /** What was read and cannot be planned, with the reason: never dropped in silence. */
  rejected: z.array(RejectionSchema),
  driver: z.enum(['engine', 'kubernetes']),
  network: z.enum(['deny', 'as-declared']),
  clock: z.enum(['charged', 'nominal']),
  /** Tasks without a solution run all the same. */
  unaudited: z.boolean(),
  /** The reward's key in reward.json where several are written. */
  rewardKey: z.string().nullable(),
  /** RUN has no network at build either. */
  offlineBuild: z.boolean(),
});
export type Plan = z.infer<typeof PlanSchema>;

export { countTrials, type PlanShape } from './order.ts';

export function shapeOf(plan: Pick<Plan, 'tasks' | 'models' | 'scaffolds'>): PlanShape {
  return {
    tasks: plan.tasks.length,
    attempts: plan.models.map((model) => model.attempts),
    scaffolds: plan.scaffolds.length,
  };
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

/** The trial at a position of the plan's order. @throws RangeError where there is none */
export function trialInPlan(plan: Plan, index: number): TrialInPlan {
  const at = trialAt(shapeOf(plan), index);
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
  return { index, path, task, model, scaffold, attempt: at.attempt };
}

/** When a command that ended early removed a sweep's sandboxes: what was lost by it is nobody's failure. */
export const InterruptionSchema = z.strictObject({
  format: z.literal('passband.interruption'),
  version: z.literal(1),
  at: z.iso.datetime(),
});

/** Where one model is asked: one server, or several replicas of it. */
const EndpointSettingsSchema = z.strictObject({
  urls: z.array(z.url()).min(1),
  servedName: z.string().nullable(),
  /** A variable of the worker's environment. */
  apiKeyEnv: z.string().nullable(),
  /** Of one worker at one URL, at once; null: our own bound. */
  maxRequests: z.int().positive().nullable(),
});

/** What may change while a sweep runs: no part of any trial's identity. Read anew by every activity. */
export const SweepSettingsSchema = z.strictObject({
  format: z.literal('passband.settings'),
  version: z.literal(2),
  concurrency: z.int().positive(),
  /** By model name. */
  endpoints: z.record(z.string(), EndpointSettingsSchema),
  /** What known-rate models were seeded with; null where the sweep has none of ours. */
  seed: z.int().min(0).nullable(),
  /** Split of each task that a splits file names. */
  splits: z.record(z.string(), z.string()),
});
export type SweepSettings = z.infer<typeof SweepSettingsSchema>;

const FirstSettingsSchema = z.looseObject({
  endpoints: z.record(z.string(), z.looseObject({ url: z.unknown() })),
});

/** Version 1 had one URL a model. */
export const settingsUpgrades: ReadonlyMap<
  number,
  (older: Readonly<Record<string, unknown>>) => Record<string, unknown>
> = new Map([
  [
    1,
    (older: Readonly<Record<string, unknown>>) => {
      const read = FirstSettingsSchema.safeParse(older);
      if (!read.success) return { ...older };
      const endpoints = Object.entries(read.data.endpoints).map(([model, { url, ...endpoint }]) => [
        model,
        { ...endpoint, urls: [url], maxRequests: null },
      ]);
      return { ...older, endpoints: Object.fromEntries(endpoints) as unknown };
    },
  ],
]);
