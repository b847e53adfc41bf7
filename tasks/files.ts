// The files of a task as they are packed: paths, kinds, exec bits and digests; where each one's bytes come from.

/** One entry of a task's package. */
export interface TaskFile {
  /** Inside the task, slash-separated, without a leading slash. */
  readonly path: string;
  readonly kind: 'file' | 'directory' | 'symlink';
  /** Of a regular file: all that is kept of its mode. */
  readonly executable: boolean;
  readonly bytes: number;
  /** Hex digest of a regular file's content, null for the other kinds. */
  readonly sha256: string | null;
  /** Target of a symbolic link. */
  readonly target: string | null;
}

/** An entry with its bytes: a path on this machine, or the mended content of a script. */
export interface SourceFile extends TaskFile {
  readonly source: string | Uint8Array;
}

/** Order of entries by their paths' code units: the same on every machine, parents before children. */
export function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  if (a.path === b.path) return 0;
  return a.path < b.path ? -1 : 1;
}

/** Whether `path` is `dir` or lies below it; `.` holds everything. */
export function isWithin(path: string, dir: string): boolean {
  return dir === '.' || path === dir || path.startsWith(`${dir}/`);
}

/**
 * The folder that is laid somewhere as a whole and that `path` belongs to: environment, tests, solution or a step's
 * tests, solution, workdir. Null for the rest.
 */
export function scopeOf(path: string): string | null {
  return (
    /^(?:environment|tests|solution|steps\/[^/]+\/(?:tests|solution|workdir))(?=\/|$)/.exec(path)?.[0] ?? null
  );
}

/** Folders that the agent must never see: tests and solutions. */
export function isHidden(path: string): boolean {
  return /(?:^|\/)(?:tests|solution)$/.test(scopeOf(path) ?? '');
}

/** Whether a file goes into the build context of `dir`: with the task's root as the context, not all of it does. */
export function isInContext(path: string, dir: string): boolean {
  return dir === '.' ? !isHidden(path) && path !== 'task.toml' : path !== dir && isWithin(path, dir);
}
