// What a sweep is asked to do: the sweep file's schema, and the flags that say the same.
import { z } from 'zod';
import { SamplingSchema } from '../domain/sweep.ts';

const positive = z.number().positive();

const notUrl = 'it is not a URL: give http://HOST:PORT/v1';
const endpointUrl = z.url(notUrl);
const tag = z.string().min(2, 'a tag has two characters or more');
const TokensInRequestSchema = z.strictObject({
  think_tags: z
    .tuple([tag, tag])
    .nullable()
    .default(null)
    .describe('The texts that thinking stands between; where left out it stays in the text'),
});

const ModelRequestSchema = z.strictObject({
  name: z
    .string()
    .min(1, 'a model needs a name')
    .describe('The model’s name, as verdicts and bands will carry it'),
  endpoint: z
    .union([z.array(endpointUrl).min(1), endpointUrl.transform((url) => [url])], notUrl)
    .nullable()
    .default(null)
    .describe(
      'Base URL of its OpenAI-compatible server, with /v1, or a list of those of its replicas; known-rate-* models need none',
    ),
  max_requests: z
    .int()
    .positive()
    .nullable()
    .default(null)
    .describe(
      'Requests that one worker has at once at each of those, at most; below it the limit finds itself',
    ),
  served_name: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe('The name the server knows it by, where that is another'),
  revision: z
    .string()
    .min(1)
    .default('unstated')
    .describe('Digest or name of the weights that are served: part of the identity'),
  sampling: SamplingSchema.default({}).describe('Sampling and template settings: part of the identity'),
  tokens_in: z
    .union([z.boolean(), TokensInRequestSchema], 'it takes true, or {think_tags: [OPENING, CLOSING]}')
    .default(false)
    .describe('Prompts go to the server as ids that extend what was sampled: part of the identity'),
  attempts: z
    .int()
    .positive()
    .nullable()
    .default(null)
    .describe('k for this model, where it differs from the sweep’s'),
  key_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'it takes the name of an environment variable')
    .nullable()
    .default(null)
    .describe('The environment variable of the worker that holds the API key'),
  nominal_tokens_per_second: positive.nullable().default(null).describe('Rate that `clock: nominal` charges'),
});
export type ModelRequest = z.infer<typeof ModelRequestSchema>;

const ScaffoldRequestSchema = z.strictObject({
  name: z.string().min(1),
  options: z.record(z.string(), z.unknown()).default({}),
});

/** Overrides of every task's limits; what is set here is recorded as set by the sweep. */
export const LimitOverridesSchema = z.strictObject({
  agent_sec: positive.optional(),
  verifier_sec: positive.optional(),
  setup_sec: positive.optional(),
  cpus: positive.optional(),
  memory_mb: positive.optional(),
  storage_mb: positive.optional(),
  pids: z.int().positive().optional(),
});

export const sweepNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

export const SweepFileSchema = z
  .strictObject({
    name: z
      .string()
      .regex(
        sweepNamePattern,
        'it takes letters, digits, . _ - and begins with a letter or digit; at most 100',
      )
      .optional()
      .describe('Letters, digits, . _ -; derived from the plan where it is left out'),
    tasks: z.string().min(1).describe('Folder of task folders, or one task folder; relative to this file'),
    models: z.array(ModelRequestSchema).min(1),
    scaffolds: z
      .array(
        z.union(
          [
            z
              .string()
              .min(1)
              .transform((name) => ({ name, options: {} })),
            ScaffoldRequestSchema,
          ],
          'it takes a name, or {name, options}',
        ),
      )
      .min(1)
      .default([{ name: 'terminus-2', options: {} }]),
    attempts: z.int().positive().default(8).describe('k: attempts of each task by each model'),
    concurrency: z
      .int()
      .positive()
      .max(2_000)
      .default(4)
      .describe('Trials that run at once; no part of the plan'),
    budget: z
      .strictObject({ wall_hours: positive })
      .nullable()
      .default(null)
      .describe('A trial starts only if its own full limits fit into what is left'),
    limits: LimitOverridesSchema.default({}),
    network: z.enum(['deny', 'as-declared']).default('deny'),
    clock: z.enum(['charged', 'nominal']).default('charged'),
    sandbox: z.enum(['engine', 'kubernetes']).default('engine'),
    kubernetes: z
      .string()
      .min(1)
      .optional()
      .describe('With sandbox: kubernetes, the YAML file of its driver; relative to this file'),
    store: z.string().min(1).optional().describe('Where results go: a folder, or s3://bucket/prefix'),
    splits: z
      .string()
      .min(1)
      .optional()
      .describe('Rows of (task, split), as CSV or JSONL; relative to this file'),
    unaudited: z.boolean().default(false).describe('Run tasks without a solution, too'),
    reward_key: z.string().min(1).nullable().default(null),
    offline_build: z.boolean().default(false).describe('No network for RUN either'),
    strict: z.boolean().default(false).describe('Unknown keys in a task are errors'),
  })
  .describe('A passband sweep');
/** A sweep as asked for, every default in place. */
export type SweepRequest = z.infer<typeof SweepFileSchema>;
