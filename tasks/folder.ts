// A task's folder read from disk: every entry, scripts mended, escaping links and special files refused by name.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { join, posix, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import ignore, { type Ignore } from 'ignore';
import { faultOf, isCode } from './disk-faults.ts';
import { byPath, isHidden, scopeOf, type SourceFile } from './files.ts';
import type { Findings } from './findings.ts';
import { mendScript, scriptLimitBytes } from './scripts.ts';
import { decodeText } from './text.ts';

export interface Folder {
  /** Sorted by path. */
  readonly files: readonly SourceFile[];
  /** Texts of scripts and small text files of tests folders, as packed. */
  readonly texts: ReadonlyMap<string, string>;
}

interface Walk {
  readonly root: string;
  readonly realRoot: string;
  readonly ignored: Ignore;
  readonly findings: Findings;
  readonly files: SourceFile[];
  readonly texts: Map<string, string>;
}

const noContent = { executable: false, bytes: 0, sha256: null, target: null, source: '' };

/** Reads the folder whole. What cannot be packed is an error finding, and is left out. */
export async function readFolder(root: string, findings: Findings): Promise<Folder> {
  const walk: Walk = {
    root,
    realRoot: await realpath(root),
    ignored: await readIgnoreFile(root),
    findings,
    files: [],
    texts: new Map(),
  };
  await walkDirectory(walk, '');
  walk.files.sort(byPath);
  return { files: walk.files, texts: walk.texts };
}

/** .harborignore (gitignore syntax) acts in tests and solution folders only. */
async function readIgnoreFile(root: string): Promise<Ignore> {
  try {
    return ignore().add(await readFile(join(root, '.harborignore'), 'utf8'));
  } catch (error) {
    if (isCode(error, 'ENOENT')) return ignore();
    throw error;
  }
}

async function walkDirectory(walk: Walk, dir: string): Promise<void> {
  const entries = await readdir(join(walk.root, dir), { withFileTypes: true });
  for (const entry of entries) {
    const path = dir === '' ? entry.name : `${dir}/${entry.name}`;
    if (path === '.git') continue;
    const asDirectory = entry.isDirectory();
    if (isHidden(path) && walk.ignored.ignores(asDirectory ? `${path}/` : path)) continue;
    try {
      await readEntry(walk, path);
    } catch (error) {
      const fault = faultOf(error);
      if (fault === null) throw error;
      walk.findings.error({ file: path }, fault);
    }
  }
}

async function readEntry(walk: Walk, path: string): Promise<void> {
  const source = join(walk.root, path);
  const stats = await lstat(source);
  if (stats.isDirectory()) {
    walk.files.push({ ...noContent, path, kind: 'directory' });
    await walkDirectory(walk, path);
  } else if (stats.isSymbolicLink()) {
    await readLink(walk, path);
  } else if (stats.isFile()) {
    await addFile(walk, path, source);
  } else {
    walk.findings.error({ file: path }, 'is a device, socket or pipe: a task is files, folders and links');
  }
}

async function addFile(walk: Walk, path: string, source: string): Promise<void> {
  const stats = await stat(source);
  const executable = (stats.mode & 0o111) !== 0;
  const scope = scopeOf(path);
  if (scope !== null && scope !== 'environment' && stats.size <= scriptLimitBytes) {
    const bytes = await readFile(source);
    const script = mendScript(path, bytes, executable);
    const text = script?.text ?? decodeText(bytes);
    if (text !== null && scope.endsWith('tests')) walk.texts.set(path, text);
    if (script !== null && script.mends.length > 0) {
      walk.findings.warn({ file: path }, `has ${script.mends.join(', ')}: mended in the package`);
      const { content } = script;
      const sha256 = createHash('sha256').update(content).digest('hex');
      const { executable: runs } = script;
      walk.files.push({
        path,
        kind: 'file',
        executable: runs,
        bytes: content.length,
        sha256,
        target: null,
        source: content,
      });
      return;
    }
  }
  const hash = createHash('sha256');
  let bytes = 0;
  await pipeline(createReadStream(source), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.length;
    }
  });
  walk.files.push({
    path,
    kind: 'file',
    executable,
    bytes,
    sha256: hash.digest('hex'),
    target: null,
    source,
  });
}

async function readLink(walk: Walk, path: string): Promise<void> {
  const target = await readlink(join(walk.root, path));
  const lexical = posix.normalize(posix.join(posix.dirname(path), target));
  const real = await realpathOrNull(join(walk.root, path));
  const inside = real === null ? null : relative(walk.realRoot, real).split(sep).join('/');
  const leaves = (at: string): boolean => at === '..' || at.startsWith('../') || posix.isAbsolute(at);
  if (target.startsWith('/') || leaves(lexical) || (inside !== null && leaves(inside))) {
    walk.findings.error(
      { file: path },
      `is a link out of the task's folder, to ${target}: copy what it links to`,
    );
    return;
  }
  const scope = scopeOf(path);
  const stays = scope === null || scopeOf(lexical) === scope;
  if (stays || real === null) {
    walk.files.push({ ...noContent, path, kind: 'symlink', target });
    return;
  }
  // The folder is laid somewhere by itself, and the link would lead nowhere there: its file goes in instead.
  if ((await stat(real)).isFile()) await addFile(walk, path, real);
  else walk.findings.error({ file: path }, `links to a folder outside ${scope}: copy it, or link to files`);
}

async function realpathOrNull(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}
