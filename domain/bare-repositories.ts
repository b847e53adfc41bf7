// Git repositories without a `.git` of that name, told by what of them stands beside each other in a delta.
import type { DeltaEntry } from './delta.ts';

/** The names under which git runs a hook (githooks(5)). */
const hookNames =
  /\/hooks\/(applypatch-msg|pre-applypatch|post-applypatch|pre-commit|pre-merge-commit|prepare-commit-msg|commit-msg|post-commit|pre-rebase|post-checkout|post-merge|pre-push|pre-receive|update|proc-receive|post-receive|post-update|reference-transaction|push-to-checkout|pre-auto-gc|post-rewrite|sendemail-validate|fsmonitor-watchman|post-index-change)$/;

export const isGitHook = (path: string): boolean => hookNames.test(path);

/** What a repository's folder holds that few other folders do. */
const parts = ['HEAD', 'objects', 'refs', 'packed-refs'] as const;

/**
 * Folders in which two parts of a repository, or a hook and a `config`, are among the paths. One alone says nothing: a
 * repository of the image of which only `config` was changed is not found.
 */
export function bareRepositoriesOf(entries: readonly Pick<DeltaEntry, 'path'>[]): ReadonlySet<string> {
  const found = new Map<string, Set<string>>();
  const note = (dir: string, part: string): void => {
    const known = found.get(dir);
    if (known === undefined) found.set(dir, new Set([part]));
    else known.add(part);
  };
  for (const { path } of entries) {
    for (const part of parts) {
      const at = `${path}/`.lastIndexOf(`/${part}/`);
      if (at > 0) note(path.slice(0, at), part);
    }
    if (path.endsWith('/config')) note(path.slice(0, -'/config'.length), 'config');
    if (isGitHook(path)) note(path.slice(0, path.lastIndexOf('/hooks/')), 'hook');
  }
  const isRepository = (seen: ReadonlySet<string>): boolean =>
    parts.filter((part) => seen.has(part)).length >= 2 || (seen.has('hook') && seen.has('config'));
  return new Set([...found].filter(([, seen]) => isRepository(seen)).map(([dir]) => dir));
}
