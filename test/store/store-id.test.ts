// The store's own id: one a store, whoever asks first.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { openFilesystemStore } from '../../store/filesystem.ts';
import { readStoreId } from '../../store/store-id.ts';

it('the id of a store is the same for all that ask at once and later, and another store has another', async () => {
  const base = await mkdtemp(path.join(tmpdir(), 'passband-id-'));
  const root = path.join(base, 'one');
  const asked = Array.from({ length: 8 }, () => readStoreId(openFilesystemStore(root)));
  const [id, ...others] = await Promise.all(asked);
  expect(new Set(others)).toEqual(new Set([id]));
  expect(await readStoreId(openFilesystemStore(root))).toBe(id);
  expect(await readStoreId(openFilesystemStore(path.join(base, 'two')))).not.toBe(id);
  await rm(base, { recursive: true, force: true });
});
