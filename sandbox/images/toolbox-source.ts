// What the toolbox's image is made from: the files of its folder, and their digest.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { pack } from 'tar-stream';
import { ClassifiedError } from '../../domain/errors.ts';
import { basesOf } from './build-context.ts';

const toolboxFolder = fileURLToPath(new URL('../../toolbox', import.meta.url));

/** It compiles the supervisor and installs packages. */
export const toolboxTimeoutMs = 15 * 60_000;

interface SourceFile {
  readonly name: string;
  readonly content: Buffer;
}

export interface ToolboxSource {
  /** 32 hexadecimal digits of all that the image is made from. */
  readonly digest: string;
  readonly bases: readonly string[];
  context(): Readable;
}

/** Reads the toolbox's folder: tests and pages are no part of its image. */
export async function readToolbox(folder = toolboxFolder): Promise<ToolboxSource> {
  const files = await sourceFiles(folder);
  const hash = createHash('sha256');
  for (const { name, content } of files) hash.update(`${name}\0${content.length}\0`).update(content);
  const dockerfile = files.find(({ name }) => name === 'Dockerfile')?.content.toString('utf8') ?? '';
  return {
    digest: hash.digest('hex').slice(0, 32),
    bases: basesOf(dockerfile),
    context: () => contextOf(files),
  };
}

/** A toolbox that cannot be made is for the operator to mend, and no task is rejected for it. */
export function toolboxFailure(error: unknown): unknown {
  if (!(error instanceof ClassifiedError) || error.failureClass !== 'ImageMissing') return error;
  const message = `the toolbox's image cannot be made: ${error.message}`;
  return new ClassifiedError('ConfigInvalid', message, { cause: error });
}

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
