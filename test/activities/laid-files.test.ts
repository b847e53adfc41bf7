// What is mounted into the agent's container from the task's own files: a delta tells what became of it, and not that it is there.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { smallArchive } from '../../activities/archives.ts';
import { laidInMain, sinceLaid } from '../../activities/laid-files.ts';
import type { DeltaEntry, DeltaManifest } from '../../domain/delta.ts';
import type { Mount, TaskServices } from '../../domain/services.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';
import type { TaskFile } from '../../tasks/files.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'passband-laid-'));
});
afterEach(() => rm(folder, { recursive: true }));

const file = (path: string, text: string): TaskFile => ({
  ...{ path, kind: 'file', executable: false, bytes: text.length, target: null },
  sha256: createHash('sha256').update(text).digest('hex'),
});
const dir = (path: string): TaskFile => ({
  ...{ path, kind: 'directory', executable: false, bytes: 0, sha256: null, target: null },
});
const files = [
  dir('environment'),
  dir('environment/app'),
  file('environment/app/same.txt', 'same'),
  file('environment/app/edited.txt', 'before'),
  file('environment/app/gone.txt', 'gone'),
  file('environment/conf', 'conf'),
];
const mounts: Mount[] = [
  { kind: 'files', source: 'environment/app', path: '/app' },
  { kind: 'files', source: 'environment/conf', path: '/etc/app.conf' },
  { kind: 'folder', path: '/data' },
];
const servicesWith = (own: Mount[]): TaskServices => ({
  main: {
    ...{ entrypoint: null, command: null, user: null, healthcheck: null, dependsOn: [], mounts: own },
    ...{ restart: { policy: 'no' }, shmMiB: null, ports: [] },
  },
  ...{ sidecars: [], hosts: [] },
});
const entry = (path: string, more: Partial<DeltaEntry> = {}): DeltaEntry => ({
  ...{ path, change: 'added', kind: 'file', mode: 0o644, uid: 0, gid: 0, bytes: 4, target: null },
  ...more,
});

it('a file that is as it was laid is left out, one that was edited stays, one that is gone is named', async () => {
  const store = openFilesystemStore(folder);
  const content = { 'app/same.txt': 'same', 'app/edited.txt': 'after', 'app/new.txt': 'new' };
  const manifest: DeltaManifest = {
    ...{ format: 'passband.delta', version: 1, refused: [], missing: [] },
    entries: [
      entry('/app', { kind: 'directory', mode: 0o755 }),
      ...Object.keys(content).map((name) => entry(`/${name}`)),
      // Its content is the same, and its owner is not.
      entry('/etc/app.conf', { change: 'changed', uid: 1000 }),
    ],
    content: await store.putBlob(
      smallArchive(Object.entries(content).map(([name, text]) => ({ name, mode: 0o644, content: text }))),
    ),
  };
  const names = new Map([
    ['/', ['app', 'etc']],
    ['/app', ['same.txt', 'edited.txt', 'new.txt']],
    ['/etc', ['app.conf']],
  ]);
  const laid = laidInMain({ services: servicesWith(mounts) }, files);
  const since = await sinceLaid({ store }, { listNames: () => Promise.resolve(names) }, manifest, laid);
  expect(since.entries.map(({ change, path }) => `${change} ${path}`)).toEqual([
    'deleted /app/gone.txt',
    ...['added /app/edited.txt', 'added /app/new.txt', 'changed /etc/app.conf'],
  ]);
});

it('of a folder that is gone whole, its top is named, once', async () => {
  const manifest: DeltaManifest = {
    ...{ format: 'passband.delta', version: 1, refused: [], missing: [], content: null },
    entries: [entry('/etc/app.conf', { change: 'deleted', kind: 'other', mode: 0 })],
  };
  const names = new Map([
    ['/', []],
    ['/app', []],
    ['/etc', []],
  ]);
  const laid = laidInMain({ services: servicesWith(mounts) }, files);
  const store = openFilesystemStore(folder);
  const since = await sinceLaid({ store }, { listNames: () => Promise.resolve(names) }, manifest, laid);
  expect(since.entries.map(({ path }) => path)).toEqual(['/app', '/etc/app.conf']);
});

it('a folder takes the place of what was laid there before it', () => {
  const one: Mount = { kind: 'files', source: 'environment/conf', path: '/app/conf' };
  const laid = laidInMain({ services: servicesWith([one, ...mounts]) }, files);
  expect([...laid.keys()].toSorted()).toEqual([
    ...['/app', '/app/edited.txt', '/app/gone.txt', '/app/same.txt', '/etc/app.conf'],
  ]);
  expect(laidInMain({}, files).size).toBe(0);
});
