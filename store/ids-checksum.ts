// The checksum of token ids: what stands for a prompt's prefix in a record.
import { createHash } from 'node:crypto';

/** sha256 over the ids as little-endian 32-bit words. */
export function idsChecksum(ids: readonly number[]): string {
  const words = new DataView(new ArrayBuffer(ids.length * 4));
  for (const [at, id] of ids.entries()) words.setUint32(at * 4, id, true);
  return createHash('sha256').update(new Uint8Array(words.buffer)).digest('hex');
}
