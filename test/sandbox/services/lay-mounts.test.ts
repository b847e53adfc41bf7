// Folders and files are laid before a service starts, once, and again only where nothing of it can have begun.
import { Readable } from 'node:stream';
import { extract, pack } from 'tar-stream';
import { expect, it } from 'vitest';
import { laidMarker, layMounts } from '../../../sandbox/services/lay-mounts.ts';
import type { Mount } from '../../../domain/services.ts';
import type { PutOptions, Sandbox } from '../../../sandbox/port.ts';

const mounts: readonly Mount[] = [
  { kind: 'folder', path: '/data' },
  { kind: 'files', source: 'environment/conf', path: '/etc/app' },
  { kind: 'files', source: 'environment/a.sql', path: '/init/schema.sql' },
  { kind: 'volume', volume: 'v', path: '/v', readOnly: false },
  { kind: 'tmpfs', path: '/t', sizeMiB: null },
];

/** A container that keeps what is put into its root, and where each archive went; its third put may be cut. */
function container(cut = false) {
  let cuts = cut ? 1 : 0;
  const puts: string[] = [];
  const root: string[] = [];
  const box: Pick<Sandbox, 'putFiles' | 'listNames'> = {
    listNames: () => Promise.resolve(new Map([['/', root]])),
    putFiles: async (tar, { dir, replace }: PutOptions) => {
      const names: string[] = [];
      const entries = extract();
      tar().pipe(entries);
      for await (const entry of entries) {
        names.push(entry.header.name);
        entry.resume();
      }
      if (puts.length === 2 && cuts > 0) {
        cuts -= 1;
        throw new Error('cut');
      }
      puts.push(`${dir}${replace ? ' anew' : ''}: ${names.join(' ')}`);
      if (dir === '/') root.push(...names);
      return { bytes: 0, sha256: '', entries: names.length, refused: [] };
    },
  };
  return { box, puts };
}

const files = (source: string) => ({
  isFolder: source.endsWith('conf'),
  tar: (name: string) => tarOf(name === '.' ? 'inside.conf' : name),
});

/** One empty file as a tar. */
function tarOf(name: string): Readable {
  const tar = pack();
  tar.entry({ name }, '');
  tar.finalize();
  return Readable.from(tar);
}

it('a folder is made, a bound folder replaces what stands there, a bound file goes by its new name', async () => {
  const { box, puts } = container();
  await layMounts(box, mounts, files);
  expect(puts).toEqual(['/data: ', '/etc/app anew: inside.conf', '/init: schema.sql', `/: ${laidMarker}`]);
});

it('nothing is laid over a service that may have begun', async () => {
  const { box, puts } = container();
  await layMounts(box, mounts, files);
  const before = [...puts];
  await layMounts(box, mounts, files);
  expect(puts).toEqual(before);
});

it('what a cut left half is laid whole by the next attempt', async () => {
  const { box, puts } = container(true);
  await expect(layMounts(box, mounts, files)).rejects.toThrow('cut');
  await layMounts(box, mounts, files);
  expect(puts.slice(2)).toEqual([
    '/data: ',
    '/etc/app anew: inside.conf',
    '/init: schema.sql',
    `/: ${laidMarker}`,
  ]);
});

it('a service without any is not asked', async () => {
  const { box, puts } = container();
  await layMounts(box, mounts.slice(3), files);
  expect(puts).toEqual([]);
});
