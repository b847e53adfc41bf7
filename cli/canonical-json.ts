// Digests of values: sha256 over canonical JSON (RFC 8785), so that equal values have equal digests.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** sha256 in hex of a value's canonical JSON. */
export function digestOf(value: unknown): string {
  return createHash('sha256')
    .update(canonicalize(value) ?? 'null')
    .digest('hex');
}
