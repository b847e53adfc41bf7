// What a model's server says of what it serves. Facts beside the identity: a revision alone says which weights a rate belongs to.
import { z } from 'zod';

export const ServingSchema = z.strictObject({
  /** The weights as the server has them: a name of a hub, or a folder. */
  root: z.string().nullable(),
  /** The model that an adapter stands on; null where it is none. */
  parent: z.string().nullable(),
  /** Tokens of the context: an adapter has its base's. */
  contextTokens: z.int().positive().nullable(),
  /** Of the server's program, as vLLM tells it. */
  serverVersion: z.string().nullable(),
});
export type Serving = z.infer<typeof ServingSchema>;
