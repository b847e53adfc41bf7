// A solution typed into real shells: every byte arrives, the run is announced once it has ended, nothing stays behind.
import { execFile } from 'node:child_process';
import { access, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KnownStep } from '../../instruments/known-rate/known-task.ts';
import { sentinelOf, typeSolution } from '../../instruments/known-rate/typing.ts';
import { stepOf } from './known-data.ts';

let work: string;
let tag: string;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'typing-'));
  tag = work.slice(-6);
});
afterEach(() => rm(work, { recursive: true }));

const keysOf = (step: KnownStep, miss = false): string =>
  typeSolution(step, tag, miss)
    .map(({ keystrokes }) => keystrokes)
    .join('');

async function type(shell: string, keys: string): Promise<string> {
  const running = promisify(execFile)(shell, [], { cwd: work });
  running.child.stdin?.end(keys);
  return (await running).stdout;
}

const everyByte = Buffer.from(Array.from({ length: 30_000 }, (_, at) => (at * 7) % 256));

describe.each(['bash', 'sh'])('a solution typed into %s', (shell) => {
  it('arrives byte by byte, small and large, beside its script, which runs in the work directory', async () => {
    const plain = stepOf('main', {
      'solve.sh': '#!/bin/bash\nset -eu\ncp "$(dirname "$0")"/data/* "$(dirname "$0")/it\'s.txt" .\n',
      "it's.txt": 'tabs\there, $HOME `id` !! "quotes" \\ and B64\nB64\n',
    });
    const step = {
      ...plain,
      files: [...plain.files, { path: 'data/large.bin', content: everyByte, executable: false }],
    };
    const screen = await type(shell, keysOf(step));
    expect(screen).toContain(`${sentinelOf(tag)} 0\n`);
    expect(everyByte.equals(await readFile(join(work, 'large.bin')))).toBe(true);
    expect(await readFile(join(work, "it's.txt"), 'utf8')).toBe(
      'tabs\there, $HOME `id` !! "quotes" \\ and B64\nB64\n',
    );
    await expect(access(`/tmp/.known-rate-${tag}`)).rejects.toThrow('ENOENT');
  });

  it('runs with the solution’s environment, stdin closed, and tells how it ended', async () => {
    const step = {
      ...stepOf('main', { 'solve.sh': '#!/bin/sh\ncat; printf %s "$WORD" > word; exit 3\n' }),
      env: { WORD: "it's $5" },
    };
    expect(await type(shell, keysOf(step))).toContain(`${sentinelOf(tag)} 3\n`);
    expect(await readFile(join(work, 'word'), 'utf8')).toBe("it's $5");
  });

  it('undoes one thing after the solution where one assertion is to fail', async () => {
    const step = stepOf('main', {
      'solve.sh': 'echo whole > result\n',
      'near-miss.sh': '#!/bin/sh\necho nearly >> result\n',
    });
    await type(shell, keysOf(step, true));
    expect(await readFile(join(work, 'result'), 'utf8')).toBe('whole\nnearly\n');
    await type(shell, keysOf(step, false));
    expect(await readFile(join(work, 'result'), 'utf8')).toBe('whole\n');
  });
});

describe('typeSolution', () => {
  it('never types what the screen will show at the end', () => {
    expect(keysOf(stepOf('main', { 'solve.sh': 'true\n' }))).not.toContain(sentinelOf(tag));
  });

  it('runs a script by its own first line, wherever bash lies', () => {
    const runOf = (first: string): string => keysOf(stepOf('main', { 'solve.sh': `${first}\n` }));
    expect(runOf('#!/usr/bin/env bash')).toContain("noninteractive' bash '/tmp");
    expect(runOf('#!/bin/sh -e')).toContain("noninteractive' sh -e '/tmp");
    expect(runOf('#!/usr/bin/python3')).toContain("noninteractive' /usr/bin/python3 '/tmp");
    expect(runOf('true')).toContain("noninteractive' $(command -v bash || echo sh) '/tmp");
  });

  it('lays a solution that names /solution there, and leaves it there', () => {
    const keys = keysOf(stepOf('main', { 'solve.sh': 'cp /solution/a /work\n', a: 'x' }));
    expect(keys).toContain("> '/solution/a'");
    expect(keys).not.toContain('rm -rf');
  });
});
