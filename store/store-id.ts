// The store's own id, written once: sandboxes of two stores, or of a store that was deleted, never share a name.
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import { putJsonOnce, readJson } from './objects.ts';
import type { Store } from './port.ts';

const key = 'v1/store.json';
const StoreIdSchema = z.strictObject({
  format: z.literal('passband.store'),
  version: z.literal(1),
  id: z.string().min(1),
});

/** The id, made where the store has none yet. */
export async function readStoreId(store: Store): Promise<string> {
  const there = await readJson(store, key, StoreIdSchema);
  if (there !== null) return there.id;
  await putJsonOnce(store, key, StoreIdSchema, { format: 'passband.store', version: 1, id: randomUUID() });
  const written = await readJson(store, key, StoreIdSchema);
  if (written === null) throw new ClassifiedError('StoreUnavailable', `${store.url} does not keep ${key}`);
  return written.id;
}
