// The network proof: what a sandbox could reach, read and tried from inside before anything of the task ran.
import { z } from 'zod';

export const NetworkProofSchema = z.strictObject({
  /** `denied`: nothing but loopback, or every probe failed; `open`: something answered; `unprovable`: it could not be shown. */
  outcome: z.enum(['denied', 'open', 'unprovable', 'as-declared']),
  interfaces: z.array(z.strictObject({ name: z.string(), addresses: z.array(z.string()) })),
  routes: z.array(z.string()),
  probes: z.array(
    z.strictObject({
      target: z.string(),
      outcome: z.enum(['denied', 'open', 'unprovable']),
      detail: z.string(),
      ms: z.number(),
    }),
  ),
  /** How long something still answered until nothing did any more; unset where nothing ever did, or something still does. */
  settledMs: z.number().optional(),
  at: z.string(),
});
export type NetworkProof = z.infer<typeof NetworkProofSchema>;
