// Task folders as known-rate models know them: read as a sweep reads them, with the solution of each step.
import { readFile } from 'node:fs/promises';
import { slugOf } from '../domain/slug.ts';
import type { Step } from '../domain/task.ts';
import { resolveEnv, type HostEnv } from '../tasks/env-templates.ts';
import { isWithin, type SourceFile } from '../tasks/files.ts';
import type { ReadTask } from '../tasks/read-task.ts';
import { readTaskSet } from '../tasks/task-set.ts';
import type { KnownStep, KnownTask, SolutionFile } from './known-rate/known-task.ts';

/**
 * The tasks of a folder that have a solution; the others cannot be solved on purpose, and a request for one is
 * answered by an error that says so.
 * @throws InputError where there is no such folder of tasks.
 */
export async function readKnownTasks(dir: string, env: HostEnv = process.env): Promise<KnownTask[]> {
  const { tasks } = await readTaskSet(dir, { env });
  return Promise.all(
    tasks.filter(({ solutionDigest }) => solutionDigest !== null).map((task) => knownTaskOf(task, env)),
  );
}

async function knownTaskOf(read: ReadTask, env: HostEnv): Promise<KnownTask> {
  const { task } = read;
  const steps = task.steps.map(async (step): Promise<KnownStep> => ({
    name: step.name,
    files: await solutionOf(read.files, step),
    agentSec: step.agentSec.value,
    env: resolveEnv(task.solutionEnv, env),
  }));
  return {
    slug: slugOf(task.name),
    id: task.name,
    diskMiB: task.limits.diskMiB.value,
    steps: await Promise.all(steps),
  };
}

async function solutionOf(files: readonly SourceFile[], step: Step): Promise<SolutionFile[]> {
  const dir = step.solutionDir;
  if (dir === null) return [];
  const own = files.filter((file) => file.kind === 'file' && isWithin(file.path, dir));
  return Promise.all(
    own.map(async ({ path, executable, source }) => ({
      path: path.slice(dir.length + 1),
      executable,
      content: typeof source === 'string' ? await readFile(source) : source,
    })),
  );
}
