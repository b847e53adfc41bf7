// The model behind `passband check`: what of a set would be planned, what is worth a look, what is refused and why.
import type { Rejection } from '../domain/sweep.ts';
import type { Task } from '../domain/task.ts';
import { readTaskSet, type SetMessage, type SetOptions } from './task-set.ts';

interface CheckedTask {
  readonly task: string;
  readonly dir: string;
  readonly digest: string;
  readonly solutionDigest: string | null;
  readonly steps: number;
  readonly needs: Task['needs'];
}

export interface CheckReport {
  readonly dir: string;
  readonly planned: readonly CheckedTask[];
  /** Names of the planned tasks that have warnings. */
  readonly warned: readonly string[];
  readonly rejected: readonly Rejection[];
  readonly messages: readonly SetMessage[];
}

/** Reads a set as a sweep would, and changes nothing. @throws InputError as readTaskSet does. */
export async function checkTasks(dir: string, options: SetOptions = {}): Promise<CheckReport> {
  const set = await readTaskSet(dir, options);
  return {
    dir: set.dir,
    planned: set.tasks.map(({ task, dir: folder, digest, solutionDigest }) => ({
      task: task.name,
      dir: folder,
      digest,
      solutionDigest,
      steps: task.steps.length,
      needs: task.needs,
    })),
    warned: set.tasks.filter(({ messages }) => messages.length > 0).map(({ task }) => task.name),
    rejected: set.rejected,
    messages: set.messages,
  };
}
