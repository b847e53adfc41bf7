// The gate record: what the oracle and the nop said of a task, kept once a sweep and read by every trial of it.
import { z } from 'zod';
import { PristineFactsSchema } from './delta.ts';
import { rejectionReasons } from './failures.ts';
import { RefSchema } from './refs.ts';

/** An image that a driver can start: a reference it resolves, and the digest it was pinned to. */
export const ImageSchema = z.strictObject({ reference: z.string(), digest: z.string() });
export type Image = z.infer<typeof ImageSchema>;

/** Images of the services of a task of several containers, by service. */
export const ServiceImagesSchema = z.record(z.string(), ImageSchema);
export type ServiceImages = z.infer<typeof ServiceImagesSchema>;

export const GateStepSchema = z.strictObject({
  name: z.string(),
  /** Assertions that the oracle's run named and passed: each must be named again and pass. */
  assertions: z.array(z.string()),
  /** Paths of the oracle's own delta: never withheld, /tests and /logs excepted. */
  solutionPaths: z.array(z.string()),
  /** The oracle's delta manifest, verified once more where an agent's verification breaks. */
  delta: RefSchema.nullable(),
  verifierMs: z.number().min(0),
});
export type GateStep = z.infer<typeof GateStepSchema>;

export const GateRecordSchema = z.strictObject({
  format: z.literal('passband.gate'),
  version: z.literal(1),
  key: z.string(),
  task: z.string(),
  outcome: z.enum(['kept', 'unaudited', 'rejected']),
  reason: z.enum(rejectionReasons).nullable(),
  message: z.string().nullable(),
  /** What the trials of this task use: the task's own word, or shared where only shared passes. */
  environmentMode: z.enum(['shared', 'separate']),
  oracleVerified: z.boolean(),
  image: ImageSchema.nullable(),
  verifierImage: ImageSchema.nullable(),
  /** Absent where the task is one container. */
  serviceImages: ServiceImagesSchema.optional(),
  pristine: PristineFactsSchema.nullable(),
  steps: z.array(GateStepSchema),
  at: z.string(),
});
export type GateRecord = z.infer<typeof GateRecordSchema>;
