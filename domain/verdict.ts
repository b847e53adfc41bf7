// The verdict: the one object that a counted trial leaves, written once; and the failure record of an uncounted generation.
import { z } from 'zod';
import { WithheldSchema } from './delta.ts';
import { EpisodeSummarySchema } from './episode.ts';
import { endings, failedDetails, failureClasses, results, type FailureClass } from './failures.ts';
import { NetworkProofSchema } from './network.ts';
import { RefSchema } from './refs.ts';
import { LimitsSchema } from './task.ts';

export const AssertionSchema = z.strictObject({
  name: z.string(),
  status: z.enum(['passed', 'failed', 'skipped', 'error', 'other']),
  message: z.string().nullable(),
});
export type Assertion = z.infer<typeof AssertionSchema>;

/** Identity of a trial: everything that may move its outcome, and nothing else. */
export const TrialIdentitySchema = z.strictObject({
  sweep: z.string(),
  task: z.string(),
  taskDigest: z.string(),
  model: z.string(),
  modelRevision: z.string(),
  modelDigest: z.string(),
  scaffold: z.string(),
  scaffoldVersion: z.string(),
  scaffoldDigest: z.string(),
  attempt: z.int().positive(),
});
export type TrialIdentity = z.infer<typeof TrialIdentitySchema>;

/** What the verification of one final state said. */
export const VerificationSchema = z.strictObject({
  result: z.enum(results),
  detail: z.enum(failedDetails).nullable(),
  /** The reward, null where none was read (also where it was malformed). */
  reward: z.number().nullable(),
  /** Every key that the verifier wrote. */
  rewards: z.record(z.string(), z.number()),
  assertions: z.array(AssertionSchema),
  withheld: z.array(WithheldSchema),
  /** Declared artifacts that were not there. */
  missing: z.array(z.string()),
  warnings: z.array(z.string()),
  verifierMs: z.number().min(0),
  /** stdout, reward files, reports of the verifier, as a tar; null where it never ran. */
  output: RefSchema.nullable(),
  /** The same of the second verification with everything put back, where there was one. */
  restoredOutput: RefSchema.nullable(),
});
export type Verification = z.infer<typeof VerificationSchema>;

/**
 * What goes with a process that passes a sandbox's memory limit: the process alone, and the episode goes on, or all of the
 * sandbox. Kubelets on cgroup v2 take all, but for `singleProcessOOMKill`; rates under the one and the other may differ.
 */
export const memoryEnds = ['process', 'sandbox'] as const;
export type MemoryEnds = (typeof memoryEnds)[number];

export const SandboxRecordSchema = z.strictObject({
  phase: z.enum(['agent', 'verifier', 'verifier-restored']),
  step: z.string(),
  /** Pod uid, or container id. */
  uid: z.string(),
  /** Node, or the engine's host. */
  host: z.string(),
  imageDigest: z.string(),
  /** Before anything of the task ran in it. */
  network: NetworkProofSchema,
  /** Of the agent's, at the end of its last episode. Null in the others, and in verdicts from before it was looked at. */
  networkAtEnd: NetworkProofSchema.nullable().default(null),
  /** Null where the sandbox cannot tell, and in verdicts from before it was asked. */
  memoryEnds: z.enum(memoryEnds).nullable().default(null),
});
export type SandboxRecord = z.infer<typeof SandboxRecordSchema>;

export const StepVerdictSchema = z.strictObject({
  name: z.string(),
  reached: z.boolean(),
  ending: z.enum(endings).nullable(),
  endingDetail: z.string().nullable(),
  episode: EpisodeSummarySchema.nullable(),
  delta: RefSchema.nullable(),
  verification: VerificationSchema.nullable(),
});
export type StepVerdict = z.infer<typeof StepVerdictSchema>;

export const VerdictSchema = z.strictObject({
  format: z.literal('passband.verdict'),
  version: z.literal(1),
  trial: TrialIdentitySchema,
  /** The generation that was counted, from 1: all before it left a failure record. */
  generation: z.int().positive(),
  ending: z.enum(endings),
  endingDetail: z.string().nullable(),
  result: z.enum(results),
  detail: z.enum(failedDetails).nullable(),
  reward: z.number().nullable(),
  rewards: z.record(z.string(), z.number()),
  assertions: z.array(AssertionSchema),
  withheld: z.array(WithheldSchema),
  missing: z.array(z.string()),
  warnings: z.array(z.string()),
  steps: z.array(StepVerdictSchema).min(1),
  limits: LimitsSchema,
  agentSeconds: z.number().min(0),
  nominalSeconds: z.number().min(0).nullable(),
  wallSeconds: z.number().min(0),
  firstTokenMs: z.number().min(0).nullable(),
  turns: z.int().min(0),
  promptTokens: z.int().min(0),
  outputTokens: z.int().min(0),
  tokensEstimated: z.boolean(),
  environmentMode: z.enum(['shared', 'separate']),
  networkMode: z.enum(['deny', 'as-declared']),
  /** The task declared a network and ran without it. */
  networkWithheld: z.boolean(),
  oracleVerified: z.boolean(),
  driver: z.string(),
  sandboxes: z.array(SandboxRecordSchema),
  startedAt: z.string(),
  endedAt: z.string(),
});
export type Verdict = z.infer<typeof VerdictSchema>;

export const FailureRecordSchema = z.strictObject({
  format: z.literal('passband.failure'),
  version: z.literal(1),
  trial: TrialIdentitySchema,
  generation: z.int().positive(),
  failureClass: z.enum(failureClasses as [FailureClass, ...FailureClass[]]),
  phase: z.string(),
  message: z.string(),
  sandboxes: z.array(SandboxRecordSchema),
  startedAt: z.string(),
  endedAt: z.string(),
});
export type FailureRecord = z.infer<typeof FailureRecordSchema>;
