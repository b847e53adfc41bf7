// The settings of a sweep: those of an earlier version are read as what they say now.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { settingsKey } from '../../domain/layout.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';
import type { Store } from '../../store/port.ts';
import { putSweepSettings, readSweepSettings } from '../../store/settings.ts';
import { settingsOf } from '../support/sweep-data.ts';

let folder: string;
let store: Store;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'passband-settings-'));
  store = openFilesystemStore(folder);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const urls = ['http://h:1/v1', 'http://h:2/v1'];

it('come back as they were put', async () => {
  const settings = settingsOf({
    endpoints: { m: { urls, servedName: 'x', apiKeyEnv: 'KEY', maxRequests: 32 } },
  });
  await putSweepSettings(store, 's', settings);
  expect(await readSweepSettings(store, 's')).toEqual(settings);
  expect(await readSweepSettings(store, 'other')).toBeNull();
});

it('of version 1 have one URL a model', async () => {
  const first = {
    ...settingsOf({ concurrency: 3, seed: 7, splits: { a: 'train' } }),
    version: 1,
    endpoints: { m: { url: urls[0], servedName: null, apiKeyEnv: 'KEY' } },
  };
  await store.put(settingsKey('s'), Buffer.from(JSON.stringify(first)));
  expect(await readSweepSettings(store, 's')).toEqual({
    ...first,
    version: 2,
    endpoints: { m: { urls: [urls[0]], servedName: null, apiKeyEnv: 'KEY', maxRequests: null } },
  });
});

it('that are spoiled are refused by their key', async () => {
  const spoiled = { format: 'passband.settings', version: 1, endpoints: 'none' };
  await store.put(settingsKey('s'), Buffer.from(JSON.stringify(spoiled)));
  await expect(readSweepSettings(store, 's')).rejects.toThrow(/settings\.json is not what was written there/);
});
