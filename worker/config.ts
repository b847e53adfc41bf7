// The worker's configuration: environment and flags, parsed once, refused in one line that names the variable.
import { z } from 'zod';
import { InputError } from '../domain/errors.ts';

const wholeNumber = (most: number) =>
  z
    .string()
    .regex(/^\d+$/, 'a whole number')
    .transform(Number)
    .pipe(z.int().min(1, 'at least 1').max(most, `at most ${most}`));

const address = z.string().regex(/^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):\d{1,5}$/, 'HOST:PORT');

/** By the variable that sets it. Everything has a default: a worker beside its server on one machine. */
const VariablesSchema = z.strictObject({
  PASSBAND_TEMPORAL_ADDRESS: address.default('127.0.0.1:7233'),
  PASSBAND_TEMPORAL_NAMESPACE: z.string().min(1).default('default'),
  PASSBAND_STORE: z.string().min(1).default('./passband-results'),
  PASSBAND_SANDBOX: z.enum(['engine', 'kubernetes']).default('engine'),
  /** A socket's path or a DOCKER_HOST form; where it is unset, DOCKER_HOST itself. */
  PASSBAND_ENGINE: z.string().min(1).optional(),
  DOCKER_HOST: z.string().min(1).default('/var/run/docker.sock'),
  /** The YAML file of the Kubernetes driver. */
  PASSBAND_KUBERNETES: z.string().min(1).optional(),
  PASSBAND_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** Activities at once: episodes hold one for as long as they run. */
  PASSBAND_WORKER_CONCURRENCY: wholeNumber(1_000).prefault('8'),
  /** Workflows kept in memory; one that is not is replayed. Bounds the worker's memory. */
  PASSBAND_WORKER_CACHED_WORKFLOWS: wholeNumber(10_000).prefault('200'),
  /** Seconds that running activities get before they are handed to another worker, which goes on from their records. */
  PASSBAND_WORKER_DRAIN_SEC: wholeNumber(3_600).prefault('3'),
});
/** What a flag may stand for. */
export type Variable = keyof typeof VariablesSchema.shape;

export interface WorkerConfig {
  readonly temporalAddress: string;
  readonly namespace: string;
  readonly storeUrl: string;
  readonly sandbox: 'engine' | 'kubernetes';
  /** Where the container engine answers. */
  readonly engine: string;
  /** The Kubernetes driver's file; null: none is named. */
  readonly kubernetes: string | null;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly concurrency: number;
  readonly cachedWorkflows: number;
  readonly drainMs: number;
}

/** A variable under this prefix that nothing reads is a typing error, and not silence. */
const ownPrefix = 'PASSBAND_WORKER_';
const configExit = 78;

/**
 * Reads the environment; what `flags` names, by the variable it stands for, wins over it. Empty values count as unset.
 * @throws InputError (exit 78) that names each variable that is wrong, and what it takes.
 */
export function readWorkerConfig(
  env: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Partial<Record<Variable, string>>> = {},
): WorkerConfig {
  const known = Object.keys(VariablesSchema.shape);
  const given: readonly (readonly [string, string | undefined])[] = [
    ...Object.entries(env),
    ...Object.entries(flags),
  ];
  const told = given.filter(
    ([name, value]) =>
      (known.includes(name) || name.startsWith(ownPrefix)) && value !== undefined && value !== '',
  );
  const parsed = VariablesSchema.safeParse(Object.fromEntries(told));
  if (!parsed.success) {
    throw new InputError(`worker configuration: ${parsed.error.issues.map(lineOf).join('; ')}`, configExit);
  }
  const values = parsed.data;
  return {
    temporalAddress: values.PASSBAND_TEMPORAL_ADDRESS,
    namespace: values.PASSBAND_TEMPORAL_NAMESPACE,
    storeUrl: values.PASSBAND_STORE,
    sandbox: values.PASSBAND_SANDBOX,
    engine: values.PASSBAND_ENGINE ?? values.DOCKER_HOST,
    kubernetes: values.PASSBAND_KUBERNETES ?? null,
    logLevel: values.PASSBAND_LOG_LEVEL,
    concurrency: values.PASSBAND_WORKER_CONCURRENCY,
    cachedWorkflows: values.PASSBAND_WORKER_CACHED_WORKFLOWS,
    drainMs: values.PASSBAND_WORKER_DRAIN_SEC * 1_000,
  };
}

function lineOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    const own = Object.keys(VariablesSchema.shape).filter((name) => name.startsWith(ownPrefix));
    return `${issue.keys.join(', ')} is no variable of the worker (it reads ${own.join(', ')})`;
  }
  return `${issue.path.join('.')}: expected ${expectedOf(issue)}`;
}

function expectedOf(issue: z.core.$ZodIssue): string {
  return issue.code === 'invalid_value' ? issue.values.map(String).join(', ') : issue.message;
}
