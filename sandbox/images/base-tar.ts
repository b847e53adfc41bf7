// Root file systems as tars: a folder's, and what a tar that somebody gives holds.
import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { InputError } from '../../domain/errors.ts';

/** A tar of a root file system's folder; `ended` rejects with an InputError where tar fails. */
export function tarOfFolder(dir: string): { readonly tar: Readable; readonly ended: Promise<void> } {
  // What the kernel and the package manager keep there is no part of an image.
  const excluded = ['./proc/*', './sys/*', './dev/*', './var/cache/apt/archives/*.deb'];
  const args = [
    '-C',
    dir,
    '--numeric-owner',
    ...excluded.map((pattern) => `--exclude=${pattern}`),
    '-cf',
    '-',
    '.',
  ];
  const child = spawn('tar', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let words = '';
  child.stderr.on('data', (chunk: Buffer) => (words = (words + chunk.toString()).slice(-2_000)));
  const ended = new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve();
      else reject(new InputError(`${dir}: tar ended with ${code ?? 'a signal'}: ${words.trim()}`));
    });
  });
  return { tar: child.stdout, ended };
}

/** Whether a tar holds images (docker save, or an OCI layout) and not a root file system; whether it is gzipped. */
export async function kindOf(path: string): Promise<{ readonly archive: boolean; readonly gzip: boolean }> {
  const gzip = await isGzip(path);
  const entries = extract();
  const file = createReadStream(path);
  file.on('error', (error) => entries.destroy(error));
  if (gzip) file.pipe(createGunzip().on('error', (error) => entries.destroy(error))).pipe(entries);
  else file.pipe(entries);
  let archive = false;
  try {
    for await (const entry of entries) {
      archive ||= ['manifest.json', 'oci-layout'].includes(entry.header.name.replace(/^\.\//, ''));
      entry.resume();
    }
  } catch (error) {
    throw new InputError(
      `${path} is no tar, gzipped or plain: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return { archive, gzip };
}

async function isGzip(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await file.close();
  }
}
