// The store in a folder: the conformance suite, and what only a folder has.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openFilesystemStore } from '../../store/filesystem.ts';
import { filesystemError } from '../../store/filesystem-errors.ts';
import type { Store } from '../../store/port.ts';
import { collect } from '../support/collect.ts';
import { describeStore } from './conformance.ts';

let base: string;
beforeAll(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'passband-store-'));
});
afterAll(() => rm(base, { recursive: true, force: true }));

const newFolder = (): Promise<string> => mkdtemp(path.join(base, 'root-'));

describeStore('a store in a folder', newFolder);

describe('a folder as a store', () => {
  let root: string;
  let store: Store;
  beforeEach(async () => {
    root = await newFolder();
    store = openFilesystemStore(root);
  });

  it('leaves no unfinished file behind a write', async () => {
    await store.put('a', Buffer.from('x'));
    await store.putOnce('a', Buffer.from('y'));
    await store.putBlob(Buffer.from('z'));
    await store.putBlob(Buffer.from('z'));
    await store.check();
    expect(await readdir(path.join(root, '.tmp'))).toEqual([]);
  });

  it('C85: removes a dead writer’s unfinished file a day later, and leaves a live one’s', async () => {
    await mkdir(path.join(root, '.tmp'));
    await writeFile(path.join(root, '.tmp/dead'), 'half');
    await writeFile(path.join(root, '.tmp/live'), 'half');
    const twoDaysAgo = new Date(Date.now() - 48 * 3600 * 1000);
    await utimes(path.join(root, '.tmp/dead'), twoDaysAgo, twoDaysAgo);
    expect(await collect(store.list(''))).toEqual([]);
    await store.put('a', Buffer.from('x'));
    expect(await readdir(path.join(root, '.tmp'))).toEqual(['live']);
  });

  it('makes its folders once, however many writers begin at the same time', async () => {
    for (let round = 0; round < 50; round += 1) {
      const fresh = openFilesystemStore(path.join(root, String(round)));
      await fresh.check();
      const bodies = ['a', 'b', 'c', 'd'].map((text) => Buffer.from(`${text}${round}`));
      await Promise.all(bodies.map((body) => fresh.putBlob(body)));
      expect(await collect(fresh.list(''))).toHaveLength(bodies.length);
    }
  });

  it('writes a blob anew that the disk has spoiled', async () => {
    const ref = await store.putBlob(Buffer.from('content'));
    await writeFile(path.join(root, ref.key), 'c0ntent');
    await store.putBlob(Buffer.from('content'));
    expect(Buffer.from((await store.get(ref.key)) ?? []).toString()).toBe('content');
  });

  it('says what is in the way of a key that goes through an object', async () => {
    await store.put('a', Buffer.from('x'));
    await expect(store.put('a/b', Buffer.from('x'))).rejects.toThrow(
      /cannot hold a\/b: an object or a folder/,
    );
    await store.put('c/d', Buffer.from('x'));
    await expect(store.put('c', Buffer.from('x'))).rejects.toThrow(/cannot hold c/);
    await expect(store.putOnce('c', Buffer.from('x'))).rejects.toThrow(/cannot hold c/);
  });

  it('lists no link that points nowhere', async () => {
    await store.put('a', Buffer.from('x'));
    await symlink('/nowhere', path.join(root, 'b'));
    expect(await collect(store.list(''))).toEqual([{ key: 'a', bytes: 1 }]);
  });

  it('refuses a root that is a file', async () => {
    await writeFile(path.join(root, 'file'), '');
    await expect(openFilesystemStore(path.join(root, 'file')).check()).rejects.toMatchObject({
      name: 'InputError',
    });
  });
});

describe('a file system that fails', () => {
  /** Runs a script in a mount namespace of its own, with a small file system at $1. Its last line is the script's result. */
  async function onSmallDisk(script: string): Promise<unknown> {
    const disk = await newFolder();
    const mount = 'mount -t tmpfs -o size=1m small "$1" && exec "$2" --input-type=module-typescript -e "$3"';
    const { stdout } = await promisify(execFile)(
      'unshare',
      ['--map-root-user', '--mount', 'sh', '-ec', mount, 'sh', disk, process.execPath, script],
      { env: { ...process.env, DISK: disk }, cwd: path.join(import.meta.dirname, '../..') },
    );
    return JSON.parse(stdout) as unknown;
  }
  const prelude = `
    import { execFileSync } from 'node:child_process';
    import { openFilesystemStore } from './store/filesystem.ts';
    const store = openFilesystemStore(process.env.DISK + '/results');
    const outcome = (work) => work.then(() => 'done', (error) => [error.name, error.failureClass ?? null, error.message]);
    const keys = async () => (await Array.fromAsync(store.list(''))).map(({ key }) => key);
    await store.put('v/verdict.json', Buffer.from('old'));
  `;

  it('C85: a full disk is StoreUnavailable, keeps what was written, lists no half object, and passes', async () => {
    const told = await onSmallDisk(`${prelude}
      const big = Buffer.alloc(3_000_000);
      const failed = [
        await outcome(store.put('v/verdict.json', big)),
        await outcome(store.putOnce('v/other.json', big)),
        await outcome(store.putBlob(big)),
      ];
      const after = { keys: await keys(), old: Buffer.from(await store.get('v/verdict.json')).toString() };
      const again = await outcome(store.putOnce('v/small.json', Buffer.from('small')));
      console.log(JSON.stringify({ failed, after, again }));
    `);
    const full: unknown = ['ClassifiedError', 'StoreUnavailable', expect.stringContaining('no space left')];
    expect(told).toEqual({
      failed: [full, full, full],
      after: { keys: ['v/verdict.json'], old: 'old' },
      again: 'done',
    });
  });

  it('a read-only file system is bad input in one line, and can still be read', async () => {
    const told = await onSmallDisk(`${prelude}
      execFileSync('mount', ['-o', 'remount,ro', process.env.DISK]);
      const fresh = openFilesystemStore(process.env.DISK + '/results');
      const failed = [await outcome(fresh.check()), await outcome(fresh.put('a', Buffer.from('x')))];
      console.log(JSON.stringify({ failed, keys: await keys() }));
    `);
    const refused: unknown = [
      'InputError',
      null,
      expect.stringMatching(/^the store .* is on a read-only file system: [^\n]*$/),
    ];
    expect(told).toEqual({ failed: [refused, refused], keys: ['v/verdict.json'] });
  });

  it.each([
    ['EACCES', 'InputError', 'no permission for a in the store /s (EACCES): give this user access to it'],
    ['EXDEV', 'InputError', 'the store /s spans several file systems at a'],
    ['ENOTSUP', 'InputError', 'has no hard links'],
    ['EDQUOT', 'ClassifiedError', 'no space left for the store /s (EDQUOT)'],
    ['EIO', 'ClassifiedError', 'the store /s failed at a: EIO'],
  ])('says of %s what it means', (code, name, message) => {
    const error = Object.assign(new Error(`${code}: told by the system`), { code, syscall: 'open' });
    const told = filesystemError(error, '/s', 'a');
    expect(told.name).toBe(name);
    expect(told.message).toContain(message);
  });

  it('leaves an error that is not the operating system’s as it is', () => {
    const defect = new TypeError('x is undefined');
    expect(filesystemError(defect, '/s', 'a')).toBe(defect);
  });
});
