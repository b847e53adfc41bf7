// The package: a task's folder as one canonical tar, the same bytes wherever and whenever it is packed.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pack, type Header, type Pack } from 'tar-stream';
import { InputError } from '../domain/errors.ts';
import { byPath, type SourceFile, type TaskFile } from './files.ts';

/**
 * The package of a task that was read: entries by path, time 0, owner 0, modes 0755 and 0644, scripts mended.
 * The stream fails with an InputError where a file is no longer what it was when the task was read.
 */
export function packTask(read: { readonly dir: string; readonly files: readonly SourceFile[] }): Readable {
  return packed(async (tar) => {
    for (const file of [...read.files].sort(byPath)) {
      const header = headerOf(file, file.path);
      if (file.kind !== 'file') await addBare(tar, header);
      else if (typeof file.source === 'string') await addStream(tar, header, checked(file, file.source));
      else await addStream(tar, header, Readable.from([file.source]));
    }
  });
}

/** A tar that `write` fills, as a plain Node stream; an error of `write` is the stream's. */
export function packed(write: (tar: Pack) => Promise<void>): Readable {
  const tar = pack();
  const done = write(tar).then(
    () => tar.finalize(),
    (error: unknown) => tar.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  return Readable.from(drained(tar, done));
}

async function* drained(tar: Pack, done: Promise<unknown>): AsyncGenerator {
  yield* tar;
  await done;
}

/** What tar-stream asks of a header. */
export type EntryHeader = Partial<Header> & Pick<Header, 'name'>;

/** The header of an entry under a name of its own: times and owners are never those of this machine. */
export function headerOf(file: TaskFile, name: string): EntryHeader {
  const common = { name, uid: 0, gid: 0, mtime: new Date(0) };
  switch (file.kind) {
    case 'directory':
      return { ...common, type: 'directory', mode: 0o755 };
    case 'symlink':
      return { ...common, type: 'symlink', mode: 0o777, linkname: file.target ?? '' };
    case 'file':
      return { ...common, type: 'file', mode: file.executable ? 0o755 : 0o644, size: file.bytes };
  }
}

export function addBare(tar: Pack, header: EntryHeader): Promise<void> {
  return new Promise((resolve, reject) => {
    tar.entry(header, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}

export async function addStream(tar: Pack, header: EntryHeader, content: Readable): Promise<void> {
  // tar-stream's own streams do what a pipeline asks of a writable; their types do not say so.
  await pipeline(content, tar.entry(header) as unknown as NodeJS.WritableStream);
}

function checked(file: TaskFile, source: string): Readable {
  return Readable.from(
    (async function* () {
      const hash = createHash('sha256');
      let bytes = 0;
      for await (const chunk of createReadStream(source) as AsyncIterable<Buffer>) {
        hash.update(chunk);
        bytes += chunk.length;
        if (bytes > file.bytes) throw changed(source);
        yield chunk;
      }
      if (hash.digest('hex') !== file.sha256) throw changed(source);
    })(),
  );
}

function changed(source: string): InputError {
  return new InputError(`${source}: changed while the task was being read; start again when it is still`);
}
