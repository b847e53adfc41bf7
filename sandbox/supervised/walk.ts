// Walks directories of a sandbox level by level: two questions a level, links never followed.
import { posix } from 'node:path';
import type { RefusedEntry } from '../port.ts';
import type { StatEntry } from '../protocol/responses.ts';
import { isOurs } from './own-paths.ts';
import { listNames, statPaths } from './files.ts';
import type { Supervised } from './supervised.ts';

export interface Walked {
  readonly entries: readonly StatEntry[];
  /** What has a name and is not found by it. */
  readonly refused: readonly RefusedEntry[];
  /** More entries than are taken at all. */
  readonly overLimit: boolean;
}

/**
 * Everything at and below `root` (absolute, canonical) that `keep` lets in, parents first.
 * `keep` is asked with the path relative to the root; a directory that it refuses is not entered.
 */
export async function walk(
  sandbox: Supervised,
  root: StatEntry,
  keep: (relative: string, directory: boolean) => boolean,
  maxEntries: number,
): Promise<Walked> {
  const entries: StatEntry[] = [root];
  const refused: RefusedEntry[] = [];
  let level = root.kind === 'directory' ? [root.path] : [];
  while (level.length > 0) {
    const names = await listNames(sandbox, level);
    const paths = level.flatMap((dir) =>
      (names.get(dir) ?? []).filter(isName).map((name) => posix.join(dir, name)),
    );
    if (entries.length + paths.length > maxEntries) return { entries, refused, overLimit: true };
    const asked = paths.filter((path) => !isOurs(path));
    const stats = await statPaths(sandbox, asked);
    asked.forEach((path, at) => {
      if ((stats[at] ?? null) === null) refused.push({ path, why: notFound });
    });
    const kept = stats
      .filter((entry) => entry !== null)
      .filter((entry) => keep(posix.relative(root.path, entry.path), entry.kind === 'directory'));
    entries.push(...kept);
    level = kept.filter(({ kind }) => kind === 'directory').map(({ path }) => path);
  }
  return { entries, refused, overLimit: false };
}

export const notFound = 'not there by this name: it may not be UTF-8';

const isName = (name: string): boolean => name !== '' && name !== '.' && name !== '..' && !name.includes('/');

/**
 * The path with the links in its parents resolved, and what stands there; null where nothing does.
 * The last component is not followed.
 */
export async function resolvePath(sandbox: Supervised, path: string): Promise<StatEntry | null> {
  let current = posix.resolve('/', path);
  for (let hops = 0; hops < 40; hops += 1) {
    const prefixes = prefixesOf(current);
    const stats = await statPaths(sandbox, prefixes);
    const link = stats.findIndex((entry, at) => entry?.kind === 'symlink' && at < prefixes.length - 1);
    if (link === -1) return stats.at(-1) ?? null;
    const prefix = prefixes[link] ?? '/';
    const target = stats[link]?.target ?? '';
    current = posix.join(posix.resolve(posix.dirname(prefix), target), current.slice(prefix.length));
  }
  return null;
}

/** `/a/b` -> `/a`, `/a/b`. */
function prefixesOf(path: string): readonly string[] {
  if (path === '/') return ['/'];
  const parts = path.split('/').slice(1);
  return parts.map((_, at) => `/${parts.slice(0, at + 1).join('/')}`);
}
