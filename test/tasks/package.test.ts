// Packages: the same bytes each time, nothing from outside the task, and its parts read back as archives.
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { promisify } from 'node:util';
import { pack } from 'tar-stream';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../domain/errors.ts';
import { openPackage, type TaskPackage } from '../../tasks/open-package.ts';
import { packTask } from '../../tasks/package.ts';
import { readTask, type ReadTask } from '../../tasks/read-task.ts';
import { findingsOf, makeFolder, makeTask, readGood, type FileSpec } from './task-folder.ts';

const bytesOf = async (stream: Readable): Promise<Buffer> => Buffer.concat(await stream.toArray());
const open = async (read: ReadTask): Promise<TaskPackage> => openPackage(await bytesOf(packTask(read)));
const namesIn = async (stream: Readable): Promise<string[]> =>
  (await openPackage(await bytesOf(stream))).files.map(({ path }) => path);

const script: FileSpec = { text: '#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n', mode: 0o755 };

describe('a package', () => {
  it('gives one file alone, under another name', async () => {
    const opened = await open(await readGood({ 'environment/a.sql': 'select 1;\n' }));
    const alone = await openPackage(await bytesOf(opened.file('environment/a.sql', 'schema.sql')));
    expect(alone.files.map(({ path }) => path)).toEqual(['schema.sql']);
    expect(await alone.readFile('schema.sql')).toEqual(Buffer.from('select 1;\n'));
  });

  it('has the same bytes wherever the folder is, whatever its modes and times', async () => {
    const long = `environment/${'d'.repeat(90)}/${'f'.repeat(120)}-ü.txt`;
    const files = (mode: number): Record<string, FileSpec> => ({
      [long]: { text: 'x', mode },
      'environment/big.bin': Buffer.alloc(300_000, 7),
      'environment/link': { linkTo: 'big.bin' },
    });
    const [one, two] = [await readGood(files(0o600)), await readGood(files(0o664))];
    const bytes = await bytesOf(packTask(one));
    expect(bytes.equals(await bytesOf(packTask(two)))).toBe(true);
    const archive = join(await makeFolder({ 'task.tar': bytes }), 'task.tar');
    const listing = await promisify(execFile)('tar', ['--full-time', '--numeric-owner', '-tvf', archive], {
      env: { ...process.env, LC_ALL: 'C.UTF-8', TZ: 'UTC' },
    });
    for (const line of listing.stdout.trim().split('\n')) {
      expect(line).toMatch(/^(?:drwxr-xr-x|-rwxr-xr-x|-rw-r--r--|lrwxrwxrwx) 0\/0 +\d+ 1970-01-01 00:00:00 /);
    }
    const { files: packed } = await openPackage(bytes);
    expect(packed).toContainEqual({
      path: 'environment/link',
      kind: 'symlink',
      executable: false,
      bytes: 0,
      sha256: null,
      target: 'big.bin',
    });
    expect(packed.map(({ path }) => path)).toContain(long);
  });

  it('holds what was read: its index is that of the task', async () => {
    const read = await readGood({ 'environment/empty/.keep': '' });
    const { files } = await open(read);
    expect(files).toEqual(read.files.map((file) => ({ ...file, source: undefined })));
  });

  it('is refused where a file changed since it was read', async () => {
    for (const [path, text] of [
      ['environment/Dockerfile', 'FROM debian:13\n'],
      ['environment/Dockerfile', 'FROM debian:12\nRUN true\n'],
      ['environment/Dockerfile', ''],
    ] as const) {
      const dir = await makeTask();
      const { read } = await readTask(dir);
      if (read === null) throw new Error('not read');
      await writeFile(join(dir, path), text);
      const failure = await bytesOf(packTask(read)).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(InputError);
      expect(String(failure)).toContain(path);
    }
  });

  it('leaves out .git, and what .harborignore names in tests and solutions alone', async () => {
    const { files } = await readGood({
      '.git/HEAD': 'ref: x\n',
      '.harborignore': '*.pyc\n__pycache__/\n',
      'tests/a.pyc': '',
      'tests/__pycache__/b.txt': '',
      'solution/c.pyc': '',
      'environment/d.pyc': '',
    });
    expect(files.map(({ path }) => path)).toEqual([
      '.harborignore',
      'environment',
      'environment/Dockerfile',
      'environment/d.pyc',
      'instruction.md',
      'solution',
      'solution/solve.sh',
      'task.toml',
      'tests',
      'tests/test.sh',
    ]);
  });
});

describe('links and special files', () => {
  it.each(['../../secret', '/etc/passwd', 'sub/../../../x', '../../'])(
    'refuse a link to %s',
    async (linkTo) => {
      expect(await findingsOf({ 'tests/out': { linkTo } })).toEqual([
        expect.stringMatching(/^error tests\/out:- - is a link out of the task's folder/),
      ]);
    },
  );

  it('refuse a link that leads out through another one', async () => {
    const outside = await makeTask();
    const found = await findingsOf({
      'tests/a': { linkTo: outside },
      'tests/b': { linkTo: 'a/tests/test.sh' },
    });
    expect(found.map((finding) => finding.split(' ')[1])).toEqual(['tests/a:-', 'tests/b:-']);
  });

  it('put the file in where a link leaves the folder that is laid by itself', async () => {
    const read = await readGood({
      'shared/test.sh': script,
      'tests/test.sh': { linkTo: '../shared/test.sh' },
    });
    expect(read.files.find(({ path }) => path === 'tests/test.sh')).toMatchObject({
      kind: 'file',
      executable: true,
      target: null,
    });
  });

  it('refuse a link to a folder outside the one that is laid, and a link in a circle', async () => {
    expect(await findingsOf({ 'shared/x': '', 'tests/data': { linkTo: '../shared' } })).toEqual([
      expect.stringMatching(/^error tests\/data:- - links to a folder outside tests/),
    ]);
    expect(await findingsOf({ 'tests/data': { linkTo: 'data' } })).toEqual([
      expect.stringMatching(/^error tests\/data:- - cannot be read \(ELOOP\)/),
    ]);
  });

  it('refuse a socket', async () => {
    const dir = await makeTask();
    const server = createServer().listen(join(dir, 'tests/socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    const { read, findings } = await readTask(dir);
    server.close();
    expect(read).toBeNull();
    expect(findings).toMatchObject([{ file: 'tests/socket', severity: 'error' }]);
  });
});

describe('parts of a package', () => {
  it('are folders by themselves, from bytes and from a stream alike', async () => {
    const bytes = await bytesOf(packTask(await readGood({ 'solution/data/x.txt': 'x' })));
    for (const source of [
      bytes,
      () => Promise.resolve(Readable.from([bytes.subarray(0, 700), bytes.subarray(700)])),
    ]) {
      const opened = await openPackage(source);
      expect(await namesIn(opened.folder('solution'))).toEqual(['data', 'data/x.txt', 'solve.sh']);
      expect(await namesIn(opened.folder('nowhere'))).toEqual([]);
      expect(await opened.readFile('nowhere')).toBeNull();
      expect(String(await opened.readFile('solution/data/x.txt'))).toBe('x');
    }
  });

  it('are tests with a step’s own laid over them, whatever kinds collide', async () => {
    const read = await readGood({
      'task.toml': '[[steps]]\nname = "a"\n',
      'steps/a/instruction.md': 'Do a.\n',
      'tests/keep.txt': 'task',
      'tests/same.txt': 'task',
      'tests/now-file/x': 'task',
      'tests/now-dir': 'task',
      'steps/a/tests/same.txt': 'step',
      'steps/a/tests/now-file': 'step',
      'steps/a/tests/now-dir/y': 'step',
    });
    const opened = await open(read);
    const laid = await openPackage(await bytesOf(opened.overlay(read.task.steps[0]?.testsDirs ?? [])));
    expect(laid.files.map(({ path }) => path).sort()).toEqual([
      'keep.txt',
      'now-dir',
      'now-dir/y',
      'now-file',
      'same.txt',
      'test.sh',
    ]);
    expect(String(await laid.readFile('same.txt'))).toBe('step');
    expect(String(await laid.readFile('now-file'))).toBe('step');
  });

  it('are a build context whose digest is that of its content alone', async () => {
    const context = async (changes: Record<string, FileSpec>) =>
      (await open(await readGood(changes))).context({
        kind: 'build',
        dir: 'environment',
        dockerfile: 'Dockerfile',
      });
    const one = await context({});
    expect(await namesIn(one.tar())).toEqual(['Dockerfile']);
    expect((await context({ 'instruction.md': 'Other.\n' })).digest).toBe(one.digest);
    expect((await context({ 'environment/more.txt': '' })).digest).not.toBe(one.digest);
  });

  it('end early without harm where nobody reads on', async () => {
    const opened = await open(await readGood({ 'environment/big.bin': Buffer.alloc(2_000_000, 1) }));
    const stream = opened.folder('environment');
    await stream[Symbol.asyncIterator]().next();
    stream.destroy();
    await finished(stream).catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
    });
    expect(stream.destroyed).toBe(true);
  });

  it('are refused where the bytes are no package', async () => {
    const tar = pack();
    tar.entry({ name: '../up' }, 'x');
    tar.finalize();
    await expect(openPackage(await bytesOf(Readable.from(tar)))).rejects.toThrow('no task package');
    const device = pack();
    device.entry({ name: 'null', type: 'character-device' });
    device.finalize();
    await expect(openPackage(await bytesOf(Readable.from(device)))).rejects.toThrow('character-device');
    await expect(openPackage(() => Promise.resolve(Readable.from(failing())))).rejects.toThrow('cut');
  });
});

async function* failing(): AsyncGenerator<Buffer> {
  yield await Promise.resolve(Buffer.alloc(100));
  throw new Error('cut');
}
