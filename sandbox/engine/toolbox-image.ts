// The toolbox as an image of its own, built once for each content of its folder.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { pack } from 'tar-stream';
import { basesOf } from './build-context.ts';
import { build } from './build.ts';
import type { Engine } from './engine.ts';
import { NotThere } from './engine-errors.ts';

const toolboxFolder = fileURLToPath(new URL('../../toolbox', import.meta.url));

/** It compiles the supervisor and installs packages. */
const timeoutMs = 15 * 60_000;

interface SourceFile {
  readonly name: string;
  readonly content: Buffer;
}

/** Ensures the toolbox's image; its reference ends with the digest of what it is made from. */
export async function ensureToolbox(
  engine: Engine,
  folder = toolboxFolder,
  signal?: AbortSignal,
): Promise<string> {
  const files = await sourceFiles(folder);
  const hash = createHash('sha256');
  for (const { name, content } of files) hash.update(`${name}\0${content.length}\0`).update(content);
  const tag = `localhost/passband/toolbox:${hash.digest('hex').slice(0, 32)}`;
  try {
    await engine.inspectImage(tag);
    return tag;
  } catch (error) {
    if (!(error instanceof NotThere)) throw error;
  }
  const dockerfile = files.find(({ name }) => name === 'Dockerfile')?.content.toString('utf8') ?? '';
  const request = { tag, dockerfile: 'Dockerfile', bases: basesOf(dockerfile), offline: false, timeoutMs };
  const late = 'PlatformUnavailable';
  await build(engine, { ...request, context: contextOf(files), late }, signal);
  return tag;
}

/** What the image is made from, in order: tests and pages are not. */
async function sourceFiles(folder: string): Promise<readonly SourceFile[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = found
    .filter((entry) => entry.isFile() && !/_test\.go$|\.md$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  return Promise.all(
    paths.map(async (path) => ({ name: relative(folder, path), content: await readFile(path) })),
  );
}

function contextOf(files: readonly SourceFile[]): Readable {
  const tar = pack();
  for (const { name, content } of files) tar.entry({ name, mode: 0o644, mtime: new Date(0) }, content);
  tar.finalize();
  return Readable.from(tar, { objectMode: false });
}
