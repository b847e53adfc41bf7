// Stores that are read: one must be there. Commands for a person to paste name it.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { commandText, readStore } from '../../cli/store-option.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'store-option-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

it('are told from a place where there is none, before anything is read', async () => {
  const nowhere = path.join(dir, 'nowhere');
  const empty = path.join(dir, 'empty');
  await mkdir(empty);
  for (const store of [nowhere, empty]) {
    await expect(readStore({ store }, () => Promise.reject(new Error('read')))).rejects.toMatchObject({
      name: 'InputError',
      message: `no store at file://${store}: nothing was written there yet; give the --store that the sweep was started with`,
    });
  }
});

it('are handed over where something was written', async () => {
  await openFilesystemStore(dir).put('v1/store.json', Buffer.from('{}'));
  expect(await readStore({ store: dir }, (store) => Promise.resolve(store.url))).toBe(`file://${dir}`);
});

it.each([
  [{}, 'passband sweep list'],
  [{ store: './results' }, 'passband sweep list --store ./results'],
  [{ store: 's3://b/p?region=eu' }, "passband sweep list --store 's3://b/p?region=eu'"],
])('with %j a command is one to paste', (options, text) => {
  expect(commandText('sweep list', options)).toBe(text);
});
