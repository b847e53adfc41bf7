// The engine's list of changed paths, without what engines and we ourselves put into every container.
import type { Change } from '../supervised/link.ts';
import { isOurs } from '../supervised/own-paths.ts';

const kinds = ['changed', 'added', 'deleted'] as const;

/** Files that engines mount or write: never the agent's work, whatever the agent made of them. */
const engineFiles: ReadonlySet<string> = new Set([
  '/',
  '/.dockerenv',
  '/etc/hostname',
  '/etc/hosts',
  '/etc/mtab',
  '/etc/resolv.conf',
  '/run/.containerenv',
  '/run/secrets',
]);

export function changesOf(
  listed: readonly { readonly Path: string; readonly Kind: number }[],
): readonly Change[] {
  return listed
    .filter(({ Path }) => !engineFiles.has(Path) && !isOurs(Path) && !Path.startsWith('/run/secrets/'))
    .map(({ Path, Kind }) => ({ path: Path, change: kinds[Kind] ?? 'changed' }));
}
