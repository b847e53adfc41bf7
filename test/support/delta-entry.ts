// An entry of a delta, for tests that do not care for the rest of it.
import type { DeltaEntry } from '../../domain/delta.ts';

/** A small file that was added, where `fields` say nothing else. */
export const deltaEntry = (path: string, fields: Partial<DeltaEntry> = {}): DeltaEntry => ({
  path,
  change: 'added',
  kind: 'file',
  mode: 0o644,
  uid: 0,
  gid: 0,
  bytes: 1,
  target: null,
  ...fields,
});
