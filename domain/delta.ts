// The delta: what the agent changed in the file system, as a manifest beside a tar.
import { z } from 'zod';
import { RefSchema } from './refs.ts';

export const DeltaEntrySchema = z.strictObject({
  /** Absolute, canonical: no component of it is a symbolic link. */
  path: z.string().startsWith('/'),
  change: z.enum(['added', 'changed', 'deleted']),
  kind: z.enum(['file', 'directory', 'symlink', 'hardlink', 'other']),
  /** Permission bits with setuid, setgid and sticky; 0 for a deleted path. */
  mode: z.int().min(0),
  uid: z.int().min(0),
  gid: z.int().min(0),
  bytes: z.int().min(0),
  /** Target of a symbolic or hard link. */
  target: z.string().nullable(),
});
export type DeltaEntry = z.infer<typeof DeltaEntrySchema>;

/** A path that the verifier does not see, with the rule that withheld it (docs/failures.md, «What the verifier sees»). */
export const WithheldSchema = z.strictObject({
  path: z.string(),
  rule: z.enum([
    'replaced-program',
    'shadowing',
    'loader',
    'shell-startup',
    'python-startup',
    'git-config',
    'own-path',
    'special-bits',
    'refused-entry',
  ]),
});
export type Withheld = z.infer<typeof WithheldSchema>;

export const DeltaManifestSchema = z.strictObject({
  format: z.literal('passband.delta'),
  version: z.literal(1),
  entries: z.array(DeltaEntrySchema),
  /** Entries that could not be taken, with why. */
  refused: z.array(z.strictObject({ path: z.string(), why: z.string() })),
  /** Declared artifacts that were not there. */
  missing: z.array(z.string()),
  /** The tar that holds the content of all added and changed entries; null where there are none. */
  content: RefSchema.nullable(),
});
export type DeltaManifest = z.infer<typeof DeltaManifestSchema>;

/** A delta over this many bytes ends the episode as agent-disk-full. */
export const deltaLimitBytes = 2 * 1024 ** 3;

/** What the withholding rules need to know of a pristine image; surveyed once at the gate. */
export const PristineFactsSchema = z.strictObject({
  /** Directories of PATH, in order, with the names in each. */
  path: z.array(z.strictObject({ dir: z.string(), names: z.array(z.string()) })),
  /** Import path of each interpreter found, in order, without the empty entry and the work directory. */
  imports: z.array(z.strictObject({ dir: z.string(), names: z.array(z.string()) })),
  /** The loader's directories, in order. */
  libraries: z.array(z.strictObject({ dir: z.string(), names: z.array(z.string()) })),
  /** Home directories of the image's users. */
  homes: z.array(z.string()),
  workdir: z.string(),
});
export type PristineFacts = z.infer<typeof PristineFactsSchema>;
