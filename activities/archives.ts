// Small tar archives made here, and archives from a sandbox read whole: all that is in one is bounded and by kind.
import { Readable } from 'node:stream';
import { extract, pack } from 'tar-stream';

export interface SmallEntry {
  readonly name: string;
  readonly mode: number;
  /** Null: a folder. */
  readonly content: string | null;
}

/** An archive of a few small files and folders. */
export function smallArchive(entries: readonly SmallEntry[]): Readable {
  const archive = pack();
  for (const { name, mode, content } of entries) {
    if (content === null) archive.entry({ name, mode, type: 'directory' });
    else archive.entry({ name, mode }, content);
  }
  archive.finalize();
  return Readable.from(archive, { objectMode: false });
}

/**
 * Regular files of an archive by name, hard links among them resolved; everything else in it is passed over. A file
 * over `fileLimitBytes` is kept up to there.
 */
export async function readArchive(tar: Readable, fileLimitBytes: number): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const entries = extract();
  tar.once('error', (error) => entries.destroy(error));
  // tar-stream's own streams do what a pipe asks of a writable; their types do not say so.
  tar.pipe(entries);
  for await (const entry of entries) {
    const { name, type, linkname } = entry.header;
    if (type === 'link' && typeof linkname === 'string') {
      const linked = files.get(normalised(linkname));
      if (linked !== undefined) files.set(normalised(name), linked);
    }
    if (type !== 'file' && type !== 'contiguous-file') {
      entry.resume();
      continue;
    }
    const parts: Buffer[] = [];
    let kept = 0;
    for await (const part of entry as AsyncIterable<Buffer>) {
      if (kept < fileLimitBytes) parts.push(part.subarray(0, fileLimitBytes - kept));
      kept += part.byteLength;
    }
    files.set(normalised(name), Buffer.concat(parts));
  }
  return files;
}

const normalised = (name: string): string => `/${name.replace(/^(\.?\/)+/, '')}`;
