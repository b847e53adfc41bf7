// A package read back: the parts of a task as archives, ready to be laid in a sandbox or built into an image.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { extract, type Extract as TarExtract } from 'tar-stream';
import type { Task } from '../domain/task.ts';
import { digestContext } from './digest.ts';
import { isInContext, isWithin, type TaskFile } from './files.ts';
import { addBare, addStream, headerOf, packed } from './package.ts';

export interface TaskPackage {
  readonly files: readonly TaskFile[];
  /** Everything below a folder, by paths relative to it; nothing where it is not there. */
  folder(dir: string): Readable;
  /** Folders laid over each other, later ones win: /tests of a step. */
  overlay(dirs: readonly string[]): Readable;
  /** One file alone, under a name of its own. */
  file(path: string, name: string): Readable;
  /** The context of an image that is built, and the digest of its content. */
  context(image: Extract<Task['image'], { kind: 'build' }>): { readonly digest: string; tar(): Readable };
  /** One file whole; null where there is none. For small ones. */
  readFile(path: string): Promise<Uint8Array | null>;
}

type Entry = TarExtract extends AsyncIterable<infer Source> ? Source : never;

/** Where the package's bytes come from: themselves, or a stream that can be had anew. */
export type PackageSource = Uint8Array | (() => Promise<Readable>);

/** Reads the index of a package. @throws Error where it is none, or holds an entry that no package holds. */
export async function openPackage(source: PackageSource): Promise<TaskPackage> {
  const files: TaskFile[] = [];
  for await (const entry of entriesOf(source)) files.push(await indexed(entry));

  const select = (wanted: ReadonlyMap<string, string>): Readable =>
    packed(async (tar) => {
      const byPath = new Map(files.map((file) => [file.path, file]));
      for await (const entry of entriesOf(source)) {
        const file = byPath.get(pathOf(entry));
        const name = file && wanted.get(file.path);
        if (file === undefined || name === undefined) entry.resume();
        else if (file.kind === 'file')
          await addStream(tar, headerOf(file, name), Readable.from(entry as AsyncIterable<Buffer>));
        else {
          entry.resume();
          await addBare(tar, headerOf(file, name));
        }
      }
    });

  return {
    files,
    folder: (dir) => select(names(files, dir)),
    overlay: (dirs) => select(overlaid(files, dirs)),
    file: (path, name) => select(new Map([[path, name]])),
    context: ({ dir }) => {
      const inside = files.filter((file) => isInContext(file.path, dir));
      const named = new Map(inside.map((file) => [file.path, relativeTo(dir, file.path)]));
      return {
        digest: digestContext(inside.map((file) => ({ ...file, path: relativeTo(dir, file.path) }))),
        tar: () => select(named),
      };
    },
    readFile: async (path) => {
      for await (const entry of entriesOf(source)) {
        if (pathOf(entry) === path && entry.header.type === 'file') {
          return Buffer.concat(await Readable.from(entry).toArray());
        }
        entry.resume();
      }
      return null;
    },
  };
}

async function* entriesOf(source: PackageSource): AsyncGenerator<Entry> {
  const bytes = source instanceof Uint8Array ? Readable.from([source]) : await source();
  const tar = extract();
  bytes.on('error', (error) => tar.destroy(error));
  // tar-stream's own streams do what a pipe asks of a writable; their types do not say so.
  bytes.pipe(tar);
  try {
    yield* tar;
  } finally {
    bytes.destroy();
    tar.destroy();
  }
}

function pathOf(entry: Entry): string {
  return entry.header.name.replace(/\/$/, '');
}

async function indexed(entry: Entry): Promise<TaskFile> {
  const { type, linkname, mode } = entry.header;
  const path = pathOf(entry);
  if (path === '' || path.startsWith('/') || path.split('/').includes('..')) {
    throw new Error(`no task package: it holds the path ${JSON.stringify(entry.header.name)}`);
  }
  if (type !== 'file' && type !== 'directory' && type !== 'symlink') {
    throw new Error(`no task package: ${path} is of kind ${type}`);
  }
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of entry as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  const isFile = type === 'file';
  return {
    path,
    kind: type,
    executable: isFile && (mode & 0o111) !== 0,
    bytes,
    sha256: isFile ? hash.digest('hex') : null,
    target: type === 'symlink' ? linkname : null,
  };
}

function relativeTo(dir: string, path: string): string {
  return dir === '.' ? path : path.slice(dir.length + 1);
}

function names(files: readonly TaskFile[], dir: string): Map<string, string> {
  const below = files.filter((file) => file.path !== dir && isWithin(file.path, dir));
  return new Map(below.map((file) => [file.path, relativeTo(dir, file.path)]));
}

/** Path in the package to name in the archive; an entry gives way to a later folder's of its name or above it. */
function overlaid(files: readonly TaskFile[], dirs: readonly string[]): Map<string, string> {
  const bare = new Set(files.flatMap((file) => (file.kind === 'directory' ? [] : [file.path])));
  return dirs.reduce((chosen, dir) => {
    const incoming = names(files, dir);
    const taken = new Set(incoming.values());
    const parents = new Set([...taken].flatMap(ancestors));
    const blocked = new Set([...incoming].flatMap(([path, name]) => (bare.has(path) ? [name] : [])));
    const kept = [...chosen].filter(
      ([path, name]) =>
        !taken.has(name) &&
        !(bare.has(path) && parents.has(name)) &&
        !ancestors(name).some((ancestor) => blocked.has(ancestor)),
    );
    return new Map([...kept, ...incoming]);
  }, new Map<string, string>());
}

function ancestors(name: string): string[] {
  const parts = name.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}
