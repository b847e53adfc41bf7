// A task as every room sees it: the normalised form of a Harbor-format folder.
import { z } from 'zod';
import { ImageOriginSchema, TaskServicesSchema } from './services.ts';

/** Who set a limit: the task declared it, the sweep overrode it, or our documented default applies. */
export const SetBySchema = z.enum(['task', 'sweep', 'default']);

const limit = z.strictObject({ value: z.number().positive(), setBy: SetBySchema });
export type Limit = z.infer<typeof limit>;

/** Limits of a trial with who set each: seconds, CPU cores, MiB, process count. */
export const LimitsSchema = z.strictObject({
  agentSec: limit,
  verifierSec: limit,
  setupSec: limit,
  cpus: limit,
  memoryMiB: limit,
  diskMiB: limit,
  pids: limit,
});
export type Limits = z.infer<typeof LimitsSchema>;

/** Our defaults, recorded as defaulted where they are used (docs/failures.md). */
export const defaultLimits = {
  agentSec: 1800,
  verifierSec: 600,
  setupSec: 600,
  cpus: 1,
  memoryMiB: 2048,
  diskMiB: 10_240,
  pids: 512,
} as const satisfies Record<keyof Limits, number>;

/** A user as task.toml may name it: a name, a numeric id, or null for the image's user. */
export const UserSchema = z.union([z.string().min(1), z.int().min(0), z.null()]);
export type User = z.infer<typeof UserSchema>;

export const NetworkModeSchema = z.enum(['public', 'no-network', 'allowlist']);

export const HealthcheckSchema = z.strictObject({
  command: z.string().min(1),
  intervalSec: z.number().positive(),
  timeoutSec: z.number().positive(),
  startPeriodSec: z.number().min(0),
  startIntervalSec: z.number().positive(),
  retries: z.int().positive(),
});
export type Healthcheck = z.infer<typeof HealthcheckSchema>;

export const ArtifactSchema = z.strictObject({
  source: z.string().min(1),
  destination: z.string().nullable(),
  exclude: z.array(z.string()),
  service: z.string().nullable(),
});
export type Artifact = z.infer<typeof ArtifactSchema>;

const env = z.record(z.string(), z.string());

/**
 * One step of a task. A task without [[steps]] has exactly one, named `main`, whose folders are the task's own.
 * Folders are paths inside the task's package, null where the task has none.
 */
export const StepSchema = z.strictObject({
  name: z.string().min(1),
  /** The instruction's text, canary lines stripped. */
  instruction: z.string(),
  /** Overlaid in order on /tests: the task's own tests, then the step's. */
  testsDirs: z.array(z.string()).min(1),
  solutionDir: z.string().nullable(),
  /** Copied into the work directory when the step begins; its setup.sh is run there. */
  workdirDir: z.string().nullable(),
  agentSec: limit,
  verifierSec: limit,
  agentUser: UserSchema,
  verifierUser: UserSchema,
  verifierEnv: env,
  healthcheck: HealthcheckSchema.nullable(),
  artifacts: z.array(ArtifactSchema),
  /** Below it the remaining steps are unreached: a bound on the reward, or one a key. */
  minReward: z.union([z.number(), z.record(z.string(), z.number())]).nullable(),
});
export type Step = z.infer<typeof StepSchema>;

export const TaskSchema = z.strictObject({
  /** org/name from [task].name, else the folder's name. */
  name: z.string().min(1),
  description: z.string(),
  /** Exactly one of the two: an environment/ to build, or a prebuilt image. */
  image: ImageOriginSchema,
  buildTimeoutSec: limit,
  /** An image that owns its /tests (tests/Dockerfile or [verifier.environment].docker_image). */
  verifierImage: ImageOriginSchema.nullable(),
  /** Null where the task leaves it unset: the gate decides (docs/failures.md). */
  environmentMode: z.enum(['shared', 'separate']).nullable(),
  networkMode: NetworkModeSchema,
  /** Whether the task itself declared a network. */
  networkDeclared: z.boolean(),
  env,
  workdir: z.string().nullable(),
  healthcheck: HealthcheckSchema.nullable(),
  solutionEnv: env,
  limits: LimitsSchema,
  collect: z.array(
    z.strictObject({
      command: z.string(),
      service: z.string(),
      timeoutSec: z.number().positive(),
      user: UserSchema,
    }),
  ),
  rewardStrategy: z.enum(['mean', 'final']),
  multiStep: z.boolean(),
  steps: z.array(StepSchema).min(1),
  /** Of a task that is run by a compose file; absent where it is one container. */
  services: TaskServicesSchema.optional(),
  /** Features that some driver cannot run: named, so that a driver can refuse them by name. */
  needs: z.array(z.enum(['compose', 'gpu', 'tpu', 'windows', 'allowlist', 'mcp', 'skills', 'prior-context'])),
});
export type Task = z.infer<typeof TaskSchema>;

/** A message of the reader or the lint: where it is, and what to do. */
export interface TaskMessage {
  readonly severity: 'error' | 'warning';
  readonly file: string;
  /** Dotted key in the file (`agent.timeout_sec`), null where the message is about the file. */
  readonly key: string | null;
  /** 1-based, null where there is none. */
  readonly line: number | null;
  readonly reason: string;
}
