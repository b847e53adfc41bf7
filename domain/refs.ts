// References to stored bytes: what travels in payloads instead of the bytes.
import { z } from 'zod';

export const RefSchema = z.strictObject({
  key: z.string().min(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.int().min(0),
});
/** Where bytes lie in the store, with their digest (hex) and length. */
export type Ref = z.infer<typeof RefSchema>;
