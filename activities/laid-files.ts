// Files of the task that its services file mounts into the agent's own container: laid by us, and no part of anybody's work.
import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import { extract } from 'tar-stream';
import type { DeltaEntry, DeltaManifest } from '../domain/delta.ts';
import { isWithin } from '../domain/paths.ts';
import type { Task } from '../domain/task.ts';
import type { Sandbox } from '../sandbox/port.ts';
import { openRef } from '../store/objects.ts';
import type { TaskFile } from '../tasks/files.ts';
import type { World } from './world.ts';

/** By absolute path, what the package holds of it. */
export type LaidFiles = ReadonlyMap<string, TaskFile>;

/** What is laid into `main`, in the order in which it is: a folder takes the place of what lay there. */
export function laidInMain({ services }: Pick<Task, 'services'>, files: readonly TaskFile[]): LaidFiles {
  const laid = new Map<string, TaskFile>();
  for (const mount of services?.main.mounts ?? []) {
    if (mount.kind !== 'files') continue;
    const { source, path } = mount;
    const own = files.find((file) => file.path === source);
    if (own !== undefined && own.kind !== 'directory') {
      laid.set(path, own);
      continue;
    }
    for (const known of laid.keys()) if (isWithin(known, path)) laid.delete(known);
    if (own !== undefined) laid.set(path, own);
    for (const file of files) {
      if (file.path === source || !isWithin(file.path, source)) continue;
      laid.set(posix.join(path, file.path.slice(source.length + 1)), file);
    }
  }
  return laid;
}

/**
 * The delta against what was laid: an image has none of it, and so all of it was among what is added, and what is gone of
 * it was not named. The content that stays behind is laid nowhere.
 */
export async function sinceLaid(
  world: Pick<World, 'store'>,
  sandbox: Pick<Sandbox, 'listNames'>,
  manifest: DeltaManifest,
  laid: LaidFiles,
): Promise<DeltaManifest> {
  if (laid.size === 0) return manifest;
  const { content } = manifest;
  const hashes = content === null ? new Map() : await hashesOf(await openRef(world.store, content), laid);
  const names = await sandbox.listNames([...new Set([...laid.keys()].map((path) => posix.dirname(path)))]);
  const gone = new Set(
    [...laid.keys()].filter(
      (path) => names.get(posix.dirname(path))?.includes(posix.basename(path)) !== true,
    ),
  );
  const named = new Set(manifest.entries.map(({ path }) => path));
  const deleted = [...gone]
    .filter((path) => !gone.has(posix.dirname(path)) && !named.has(path))
    .map((path): DeltaEntry => ({ ...nothing, path, change: 'deleted' }));
  const changed = manifest.entries.filter((entry) => !isAsLaid(entry, laid.get(entry.path), hashes));
  return { ...manifest, entries: [...deleted, ...changed] };
}

const nothing = { kind: 'other', mode: 0, uid: 0, gid: 0, bytes: 0, target: null } as const;

/** As a package is laid: root's, with the modes that packages have. */
function isAsLaid(
  { path, change, kind, mode, uid, gid, target }: DeltaEntry,
  file: TaskFile | undefined,
  hashes: ReadonlyMap<string, string>,
): boolean {
  if (file === undefined || change === 'deleted' || kind !== file.kind || uid !== 0 || gid !== 0)
    return false;
  switch (kind) {
    case 'file':
      return mode === (file.executable ? 0o755 : 0o644) && hashes.get(path) === file.sha256;
    case 'directory':
      return mode === 0o755;
    default:
      return target === file.target;
  }
}

/** sha256 of those regular files of an archive that lie where something was laid, by absolute path. */
async function hashesOf(tar: Readable, laid: LaidFiles): Promise<ReadonlyMap<string, string>> {
  const hashes = new Map<string, string>();
  const entries = extract();
  tar.once('error', (error) => entries.destroy(error));
  // tar-stream's own streams do what a pipe asks of a writable; their types do not say so.
  tar.pipe(entries);
  for await (const entry of entries) {
    const path = `/${entry.header.name}`;
    if (entry.header.type !== 'file' || !laid.has(path)) {
      entry.resume();
      continue;
    }
    const hash = createHash('sha256');
    for await (const chunk of entry as AsyncIterable<Buffer>) hash.update(chunk);
    hashes.set(path, hash.digest('hex'));
  }
  return hashes;
}
