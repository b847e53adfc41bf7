// Small task folders for whole sweeps: built on a base image alone, solved and verified in no time.
import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { exampleTasks } from './passband.ts';

/** Files of a task; null leaves one out. Scripts are executable. */
export type TaskFiles = Readonly<Record<string, string | null>>;

const goodTask: TaskFiles = {
  'task.toml': [
    'schema_version = "1.0"',
    '[agent]',
    'timeout_sec = 20.0',
    '[verifier]',
    'timeout_sec = 20.0',
    '[environment]',
    'network_mode = "no-network"',
    'memory_mb = 256',
    'workdir = "/work"',
    '',
  ].join('\n'),
  'instruction.md': 'Write the word hello to /work/hello.txt.\n',
  'environment/Dockerfile': 'FROM debian:12\nWORKDIR /work\n',
  'solution/solve.sh': '#!/bin/bash\necho hello > /work/hello.txt\n',
  'tests/test.sh': [
    '#!/bin/bash',
    'echo 0 > /logs/verifier/reward.txt',
    'grep -qx hello /work/hello.txt && echo 1 > /logs/verifier/reward.txt',
    '',
  ].join('\n'),
};

/** Copies sample tasks into `dir`, by the names of their folders. */
export async function copyExamples(dir: string, names: readonly string[]): Promise<string> {
  for (const name of names)
    await cp(path.join(exampleTasks, name), path.join(dir, name), { recursive: true });
  return dir;
}

/** Writes a set of task folders under `dir`, each a good task but for its own files. */
export async function writeTasks(dir: string, tasks: Readonly<Record<string, TaskFiles>>): Promise<string> {
  for (const [name, changes] of Object.entries(tasks)) {
    for (const [file, text] of Object.entries({ ...goodTask, ...changes })) {
      if (text === null) continue;
      const target = path.join(dir, name, file);
      await mkdir(path.dirname(target), { recursive: true });
      await writeFile(target, text);
      if (file.endsWith('.sh')) await chmod(target, 0o755);
    }
  }
  return dir;
}
