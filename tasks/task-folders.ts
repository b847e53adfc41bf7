// Which folders of a set are task folders: all of them, but for those whose names begin with a dot.
import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { InputError } from '../domain/errors.ts';
import { faultOf, isCode } from './disk-faults.ts';
import { byPath } from './files.ts';

export interface TaskFolders {
  /** Relative to the set's folder, sorted; one empty name where the set is a task itself. */
  readonly folders: readonly string[];
  /** Folders that are left out for their dot. */
  readonly hidden: readonly string[];
}

/** @throws InputError, naming what was `given`, where there is no such folder or none in it. */
export async function findTaskFolders(root: string, given: string): Promise<TaskFolders> {
  if (await isFile(join(root, 'task.toml'))) return { folders: [''], hidden: [] };
  const names = await namesIn(root, given);
  const folders = names.filter((name) => !name.startsWith('.'));
  if (folders.length === 0) {
    throw new InputError(`${given}: holds no task folders; give a task's folder, or a folder of such`);
  }
  return { folders, hidden: names.filter((name) => name.startsWith('.')) };
}

// Folders of the format itself: a task.toml below them is part of the task (a fixture, say).
const ownFolders: ReadonlySet<string> = new Set(['environment', 'tests', 'solution', 'steps']);

/** Names of task folders directly inside a folder of a set. */
export async function nestedTasks(dir: string): Promise<string[]> {
  const nested: string[] = [];
  try {
    for (const name of await childFolders(dir)) {
      if (!ownFolders.has(name) && (await isFile(join(dir, name, 'task.toml')))) nested.push(name);
    }
  } catch (error) {
    // A folder that cannot be listed is refused by the reader, which names it.
    if (faultOf(error) === null) throw error;
  }
  return nested;
}

async function namesIn(root: string, given: string): Promise<string[]> {
  try {
    return await childFolders(root);
  } catch (error) {
    if (isCode(error, 'ENOENT'))
      throw new InputError(`${given}: there is no such folder; give a folder of tasks`);
    if (isCode(error, 'ENOTDIR')) throw new InputError(`${given}: is no folder; give a folder of tasks`);
    const fault = faultOf(error);
    throw fault === null ? error : new InputError(`${given}: ${fault}; give a folder of tasks`);
  }
}

/** Names of folders, and of links to folders. */
async function childFolders(dir: string): Promise<string[]> {
  const names: { readonly path: string }[] = [];
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const linked = entry.isSymbolicLink() ? await statOrNull(join(dir, entry.name)) : null;
    if (entry.isDirectory() || linked?.isDirectory() === true) names.push({ path: entry.name });
  }
  return names.sort(byPath).map(({ path }) => path);
}

async function isFile(path: string): Promise<boolean> {
  return (await statOrNull(path))?.isFile() ?? false;
}

async function statOrNull(path: string): Promise<Stats | null> {
  try {
    return await stat(path);
  } catch (error) {
    if (faultOf(error) !== null) return null;
    throw error;
  }
}
