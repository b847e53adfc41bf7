// A build context as a folder, which is what buildctl takes: laid from its tar, and removed after the build.
import { createWriteStream } from 'node:fs';
import { chmod, link, lutimes, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract, type Header } from 'tar-stream';
import { ClassifiedError } from '../../domain/errors.ts';
import { filterTar } from '../../sandbox/archive/filter-tar.ts';

/** Performs `use` with a folder that holds the context. ClassifiedError `ImageMissing` where it cannot be laid. */
export async function inContextFolder<T>(context: Readable, use: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'passband-context-'));
  try {
    await lay(context, dir);
    return await use(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Links are laid as they are, wherever they lead: the filter lets no entry through that would be written through one. */
async function lay(context: Readable, dir: string): Promise<void> {
  const refused: string[] = [];
  const safe = filterTar(context, { maxBytes: Infinity }, ({ path, why }) => refused.push(`${path}: ${why}`));
  const entries = extract();
  safe.on('error', (error) => entries.destroy(error));
  safe.pipe(entries);
  const folders: { readonly path: string; readonly header: Header }[] = [];
  for await (const entry of entries) {
    const { header } = entry;
    const path = join(dir, header.name);
    await mkdir(dirname(path), { recursive: true });
    switch (header.type) {
      case 'directory':
        await mkdir(path, { recursive: true });
        folders.unshift({ path, header });
        break;
      case 'symlink':
        await symlink(header.linkname, path);
        break;
      case 'link':
        await link(join(dir, header.linkname), path);
        break;
      default:
        await pipeline(entry, createWriteStream(path));
        await chmod(path, header.mode & 0o777);
    }
    entry.resume();
    if (header.type !== 'directory' && header.type !== 'link') await setTime(path, header);
  }
  // After what is in them, which would change their times, and could not be laid where they are closed.
  for (const { path, header } of folders) {
    await chmod(path, (header.mode & 0o777) | 0o700);
    await setTime(path, header);
  }
  const [first] = refused;
  if (first !== undefined)
    throw new ClassifiedError('ImageMissing', `the build context cannot be used: ${first}`);
}

/** COPY keeps the times of files: an image must not differ by when its context was laid. */
const setTime = (path: string, { mtime }: Header): Promise<void> => lutimes(path, mtime, mtime);
