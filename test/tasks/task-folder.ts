// Task folders made for a test in a temporary directory, and removed when it ends.
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readTask, type ReadOptions, type ReadTask } from '../../tasks/read-task.ts';
import type { Finding } from '../../tasks/findings.ts';

export type FileSpec =
  string | Uint8Array | { readonly text: string; readonly mode: number } | { readonly linkTo: string } | null;

/** A task that has nothing to say of it. A path given as null is left out. */
const plainTask: Readonly<Record<string, FileSpec>> = {
  'task.toml': 'version = "1.0"\n',
  'instruction.md': 'Write hello to /app/hello.txt.\n',
  'environment/Dockerfile': 'FROM debian:12\n',
  'solution/solve.sh': { text: '#!/bin/bash\necho hello > /app/hello.txt\n', mode: 0o755 },
  'tests/test.sh': { text: '#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n', mode: 0o755 },
};

export async function makeFolder(files: Readonly<Record<string, FileSpec>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'passband-tasks-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await writeFiles(root, files);
  return root;
}

async function writeFiles(root: string, files: Readonly<Record<string, FileSpec>>): Promise<void> {
  for (const [path, spec] of Object.entries(files)) {
    if (spec === null) continue;
    const target = join(root, path);
    await mkdir(dirname(target), { recursive: true });
    if (typeof spec === 'string' || spec instanceof Uint8Array) await writeFile(target, spec);
    else if ('linkTo' in spec) await symlink(spec.linkTo, target);
    else {
      await writeFile(target, spec.text);
      await chmod(target, spec.mode);
    }
  }
}

export const makeTask = (changes: Readonly<Record<string, FileSpec>> = {}): Promise<string> =>
  makeFolder({ ...plainTask, ...changes });

/** Files of a set of plain tasks, each with its own changes. */
export function setOf(
  tasks: Readonly<Record<string, Readonly<Record<string, FileSpec>>>>,
): Record<string, FileSpec> {
  return Object.fromEntries(
    Object.entries(tasks).flatMap(([name, changes]) =>
      Object.entries({ ...plainTask, ...changes }).map(([path, spec]) => [`${name}/${path}`, spec]),
    ),
  );
}

/** The task of a folder; fails with what is wrong with it. */
export async function readGood(
  changes: Readonly<Record<string, FileSpec>> = {},
  options: ReadOptions = {},
): Promise<ReadTask & { readonly findings: readonly Finding[] }> {
  const { read, findings } = await readTask(await makeTask(changes), options);
  if (read === null) throw new Error(JSON.stringify(findings));
  return { ...read, findings };
}

/** The same with only task.toml given. */
export const readToml = (toml: string, options: ReadOptions = {}) => readGood({ 'task.toml': toml }, options);

/** Findings as `file:line key reason`, for one expectation each. */
export async function findingsOf(
  changes: Readonly<Record<string, FileSpec>>,
  options: ReadOptions = {},
): Promise<string[]> {
  const { findings } = await readTask(await makeTask(changes), options);
  return findings.map(
    ({ severity, file, line, key, reason }) => `${severity} ${file}:${line ?? '-'} ${key ?? '-'} ${reason}`,
  );
}
