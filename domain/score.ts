// What another model says of one exact sequence of a trial: a line of a scores file.
import { z } from 'zod';
import { breakCauses } from './episode.ts';
import { TrialIdentitySchema } from './verdict.ts';

/** Why there are no logprobs of a sequence. */
export const unscored = ['context-too-long', 'out-of-vocabulary', 'another-tokenizer'] as const;

export const SequenceScoreSchema = z.strictObject({
  format: z.literal('passband.score'),
  version: z.literal(1),
  trial: TrialIdentitySchema,
  generation: z.int().positive(),
  /** Name of the task's step. */
  step: z.string(),
  /** Of its step, from 0: an episode whose prompts always extended what was known has one. */
  sequence: z.int().min(0),
  /** The break that it begins after; null for the first. */
  brokenBy: z
    .strictObject({
      call: z.int().min(0),
      index: z.int().min(0),
      cause: z.enum(breakCauses).nullable(),
    })
    .nullable(),
  teacher: z.strictObject({ model: z.string(), endpoint: z.string() }),
  /** Of the whole sequence; the checksum as turn records have it. */
  ids: z.strictObject({ count: z.int().positive(), sha256: z.string() }),
  outcome: z.enum(['scored', ...unscored]),
  /** What the endpoint said, where it is not scored. */
  message: z.string().nullable(),
  completions: z.array(
    z.strictObject({
      call: z.int().min(0),
      /** Index of the first id in the sequence. */
      from: z.int().min(0),
      ids: z.array(z.int()),
      /** Logprobs as they were sampled; null where the server gave none. */
      sampled: z.array(z.number()).nullable(),
      /** The same ids' by the teacher; null where the sequence is not scored. */
      teacher: z.array(z.number()).nullable(),
    }),
  ),
});
export type SequenceScoreLine = z.infer<typeof SequenceScoreSchema>;
