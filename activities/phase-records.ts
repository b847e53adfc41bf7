// One small object a phase: what it came to, so that a phase asked again answers from it.
import { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import { EpisodeSummarySchema } from '../domain/episode.ts';
import { endings } from '../domain/failures.ts';
import { ImageSchema } from '../domain/gate.ts';
import { phaseKey } from '../domain/layout.ts';
import { NetworkProofSchema } from '../domain/network.ts';
import { RefSchema } from '../domain/refs.ts';
import { SandboxRecordSchema, VerificationSchema } from '../domain/verdict.ts';
import { putJsonOnce, readJson } from '../store/objects.ts';
import type { Grading } from './subject.ts';
import type { World } from './world.ts';

const head = <const Name extends string>(name: Name) => ({
  format: z.literal(`passband.phase.${name}`),
  version: z.literal(1),
});

const SandboxIdentitySchema = z.strictObject({
  name: z.string(),
  driver: z.string(),
  uid: z.string(),
  host: z.string(),
  imageDigest: z.string(),
  bootId: z.string(),
});

export const ProvisionRecordSchema = z.strictObject({
  ...head('provision'),
  sandbox: SandboxIdentitySchema,
  image: ImageSchema,
  startedAt: z.string(),
});

export const BarrierRecordSchema = z.strictObject({
  ...head('barrier'),
  network: NetworkProofSchema,
  memoryEnds: SandboxRecordSchema.shape.memoryEnds,
});

/** Written when a step is set up and its agent may begin: what was laid is not laid over the agent's work again. */
export const BeginRecordSchema = z.strictObject({
  ...head('begin'),
  startedAt: z.string(),
  warnings: z.array(z.string()),
});
export type BeginRecord = z.infer<typeof BeginRecordSchema>;

export const EpisodeRecordSchema = z.strictObject({
  ...head('episode'),
  ending: z.enum(endings),
  detail: z.string().nullable(),
  summary: EpisodeSummarySchema,
  /** Turns that the terminal has taken since the sandbox began, this step's included. */
  terminalSeq: z.int().min(0),
  warnings: z.array(z.string()),
});
export type EpisodeRecord = z.infer<typeof EpisodeRecordSchema>;

export const DeltaRecordSchema = z.strictObject({
  ...head('delta'),
  finalState: z.boolean(),
  ending: z.literal('agent-disk-full').nullable(),
  /** The manifest; null where there is no final state. */
  delta: RefSchema.nullable(),
  /** The network at the episode's end; null where the sandbox had ended by then, and in records from before it was looked at. */
  network: NetworkProofSchema.nullable().default(null),
  warnings: z.array(z.string()),
});
export type DeltaRecord = z.infer<typeof DeltaRecordSchema>;

export const VerifyRecordSchema = z.strictObject({
  ...head('verify'),
  verification: VerificationSchema,
  /** Keys of a reward file that names several and none of them `reward`. */
  ambiguousKeys: z.array(z.string()),
  exitCode: z.int().nullable(),
  sandboxes: z.array(SandboxRecordSchema),
  goOn: z.boolean(),
});
export type VerifyRecord = z.infer<typeof VerifyRecordSchema>;

export interface PhaseAt<T> {
  readonly grading: Pick<Grading, 'prefix'>;
  readonly step: number;
  /** The object's name in the step's folder. */
  readonly phase: string;
  readonly schema: z.ZodType<T>;
}

/** The phases of a generation: where each one's record lies and what it is. */
export const phases = {
  provision: (grading: Pick<Grading, 'prefix'>) => at(grading, 0, 'provision', ProvisionRecordSchema),
  barrier: (grading: Pick<Grading, 'prefix'>) => at(grading, 0, 'barrier', BarrierRecordSchema),
  begin: (grading: Pick<Grading, 'prefix'>, step: number) => at(grading, step, 'begin', BeginRecordSchema),
  episode: (grading: Pick<Grading, 'prefix'>, step: number) =>
    at(grading, step, 'episode', EpisodeRecordSchema),
  delta: (grading: Pick<Grading, 'prefix'>, step: number) => at(grading, step, 'delta', DeltaRecordSchema),
  verify: (grading: Pick<Grading, 'prefix'>, step: number) => at(grading, step, 'verify', VerifyRecordSchema),
};

function at<T>(
  grading: Pick<Grading, 'prefix'>,
  step: number,
  phase: string,
  schema: z.ZodType<T>,
): PhaseAt<T> {
  return { grading, step, phase, schema };
}

const keyOf = <T>({ grading, step, phase }: PhaseAt<T>): string => phaseKey(grading.prefix, step, phase);

/** What the phase came to, null where it has not ended yet. */
export const readPhase = <T>(world: Pick<World, 'store'>, phase: PhaseAt<T>): Promise<T | null> =>
  readJson(world.store, keyOf(phase), phase.schema);

/** The same where the phase must have ended before this one. */
export async function needPhase<T>(world: Pick<World, 'store'>, phase: PhaseAt<T>): Promise<T> {
  const record = await readPhase(world, phase);
  if (record === null) throw new ClassifiedError('Unexpected', `phase ${keyOf(phase)} has left no record`);
  return record;
}

/** Writes what the phase came to, once; the record that stands is the answer, whoever wrote it. */
export async function endPhase<T>(world: Pick<World, 'store'>, phase: PhaseAt<T>, record: T): Promise<T> {
  const { written, same } = await putJsonOnce(world.store, keyOf(phase), phase.schema, record);
  return written || same ? record : needPhase(world, phase);
}
