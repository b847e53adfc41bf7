// The task digest: moved by everything that acts, and by nothing else.
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestTask } from '../../tasks/digest.ts';
import { readTask } from '../../tasks/read-task.ts';
import { makeTask, readGood, type FileSpec } from './task-folder.ts';

const base: Record<string, FileSpec> = {
  'task.toml': '[agent]\ntimeout_sec = 30\n[environment]\nenv = {A = "1"}\n',
  'environment/data.txt': 'data\n',
  'environment/run.py': { text: 'print()\n', mode: 0o644 },
};
const script = (text: string, mode = 0o755): FileSpec => ({ text: `#!/bin/bash\n${text}\n`, mode });

const digestsOf = async (changes: Record<string, FileSpec>) => {
  const { digest, solutionDigest } = await readGood({ ...base, ...changes });
  return { digest, solutionDigest };
};

describe('the task digest', () => {
  it.each<[string, Record<string, FileSpec>]>([
    [
      '[metadata], description, keywords and a name',
      {
        'task.toml':
          '[task]\nname = "org/x"\ndescription = "d"\nkeywords = ["k"]\n[metadata]\ndifficulty = "hard"\n' +
          '[environment]\nenv = {A = "1"}\n[agent]\ntimeout_sec = 30.0\n',
      },
    ],
    [
      'a limit that is declared at our default',
      {
        'task.toml': '[agent]\ntimeout_sec = 30\n[environment]\nenv = {A = "1"}\ncpus = 1\nmemory = "2G"\n',
      },
    ],
    ['a canary line', { 'instruction.md': '<!-- canary -->\n\nWrite hello to /app/hello.txt.\n' }],
    ['a README', { 'README.md': 'About.\n' }],
    [
      'a missing exec bit of test.sh, which is mended',
      {
        'tests/test.sh': script('echo 1 > /logs/verifier/reward.txt', 0o644),
      },
    ],
  ])('is not moved by %s', async (_, changes) => {
    expect(await digestsOf(changes)).toEqual(await digestsOf({}));
  });

  it.each<[string, Record<string, FileSpec>]>([
    ['the instruction', { 'instruction.md': 'Write bye.\n' }],
    ['a file of the environment', { 'environment/data.txt': 'other\n' }],
    ['a new file of the environment', { 'environment/more.txt': '' }],
    ['an exec bit in the environment', { 'environment/run.py': { text: 'print()\n', mode: 0o755 } }],
    ['the tests', { 'tests/test.sh': script('echo 0 > /logs/verifier/reward.txt') }],
    ['a limit', { 'task.toml': '[agent]\ntimeout_sec = 31\n[environment]\nenv = {A = "1"}\n' }],
    ['the environment table', { 'task.toml': '[agent]\ntimeout_sec = 30\n[environment]\nenv = {A = "2"}\n' }],
    ['the user', { 'task.toml': '[agent]\ntimeout_sec = 30\nuser = "x"\n[environment]\nenv = {A = "1"}\n' }],
  ])('is moved by %s, and the solution’s is not', async (_, changes) => {
    const [before, after] = [await digestsOf({}), await digestsOf(changes)];
    expect(after.digest).not.toBe(before.digest);
    expect(after.solutionDigest).toBe(before.solutionDigest);
  });

  it('is not moved by the solution, whose own digest is', async () => {
    const [before, after] = [await digestsOf({}), await digestsOf({ 'solution/solve.sh': script('true') })];
    expect(after.digest).toBe(before.digest);
    expect(after.solutionDigest).not.toBe(before.solutionDigest);
  });

  it('is not moved by times, nor by the value that a template has here', async () => {
    const files = { ...base, 'task.toml': '[environment.env]\nK = "${K}"\n' };
    const [one, two] = [await makeTask(files), await makeTask(files)];
    await utimes(join(two, 'environment/data.txt'), 1, 1);
    const [a, b] = [await readTask(one, { env: { K: 'x' } }), await readTask(two, { env: { K: 'y' } })];
    expect(a.read?.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(a.read?.digest).toBe(b.read?.digest);
  });

  it('is not moved by the order of the files or of a table’s keys', async () => {
    const { task, files, digest } = await readGood({
      ...base,
      'environment/a/b.txt': 'b',
      'environment/a.txt': 'a',
    });
    fc.assert(
      fc.property(fc.shuffledSubarray([...files], { minLength: files.length }), (shuffled) => {
        const reversed = Object.fromEntries(Object.entries(task).reverse()) as typeof task;
        expect(digestTask(reversed, shuffled)).toBe(digest);
      }),
    );
  });
});
