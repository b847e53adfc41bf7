// A stream of unknown length into a file, counted and hashed on the way, so that its name and length are known before it is stored.
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';

export interface Spooled {
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * Writes all of `body` at the start of an empty file. Memory holds one chunk.
 * An error of the file goes through `fileError`; an error of the body comes out as it is: it is not the store's.
 */
export async function spool(
  body: Readable | Uint8Array,
  file: FileHandle,
  fileError: (error: unknown) => Error,
): Promise<Spooled> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunksOf(body)) {
    hash.update(chunk);
    try {
      await file.writeFile(chunk);
    } catch (error) {
      throw fileError(error);
    }
    bytes += chunk.byteLength;
  }
  return { sha256: hash.digest('hex'), bytes };
}

async function* chunksOf(body: Readable | Uint8Array): AsyncGenerator<Uint8Array> {
  if (body instanceof Uint8Array) {
    yield body;
    return;
  }
  for await (const chunk of body as AsyncIterable<unknown>) {
    if (chunk instanceof Uint8Array) yield chunk;
    else if (typeof chunk === 'string') yield Buffer.from(chunk);
    else throw new TypeError('a blob is a stream of bytes, not of objects');
  }
}
