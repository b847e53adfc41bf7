// A set of tasks: every child folder is planned or rejected with file, key, line and reason; none is left out in silence.
import { readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import pMap from 'p-map';
import type { Rejection } from '../domain/sweep.ts';
import type { Task, TaskMessage } from '../domain/task.ts';
import { statedName } from './config.ts';
import { faultOf } from './disk-faults.ts';
import type { Finding } from './findings.ts';

import { checkOverrides } from './limits.ts';
import { findTaskFolders, nestedTasks } from './task-folders.ts';
import { readTask, type ReadOptions, type ReadTask, type TaskReading } from './read-task.ts';

export interface SetOptions extends ReadOptions {
  /** Why a driver cannot run a task, by the names of what it lacks; empty where it can. Unset: any task is planned. */
  readonly unsupported?: (task: Task) => readonly string[];
}

export interface SetTask extends ReadTask {
  /** Files in messages are relative to the set's folder. */
  readonly messages: readonly TaskMessage[];
}

/** A message with the folder it is of: the task's name in its set. */
export interface SetMessage extends TaskMessage {
  readonly task: string;
}

export interface TaskSet {
  readonly dir: string;
  /** By folder name. */
  readonly tasks: readonly SetTask[];
  /** One for each folder that is not planned: its first error. */
  readonly rejected: readonly Rejection[];
  /** Everything found, of planned and rejected tasks and of the set itself. */
  readonly messages: readonly SetMessage[];
}

const readersAtOnce = 8;

/**
 * Reads a folder of task folders; a folder that holds a task.toml is a set of one.
 * @throws InputError where there is no such folder, it holds no folder, or an override is no limit.
 */
export async function readTaskSet(dir: string, options: SetOptions = {}): Promise<TaskSet> {
  checkOverrides(options.overrides ?? {});
  const root = resolve(dir);
  const { folders, hidden } = await findTaskFolders(root, dir);
  const readings = await pMap(folders, (path) => readOne(root, path, options), {
    concurrency: readersAtOnce,
  });
  const tasks: SetTask[] = [];
  const rejected: Rejection[] = [];
  const messages: SetMessage[] = hidden.map((name) => ({
    task: name,
    severity: 'warning',
    file: name,
    key: null,
    line: null,
    reason: 'is not read as a task: its name begins with a dot',
  }));
  const folderOf = new Map<string, string>();
  for (const { path, name, reading } of readings) {
    const twin = folderOf.get(name);
    const findings = [...reading.findings];
    if (reading.read !== null && twin !== undefined) findings.push(duplicate(path, reading.read, twin));
    messages.push(...findings.map((finding) => ({ task: name, ...asMessage(finding) })));
    const errors = findings.filter((finding) => finding.severity === 'error');
    const [first] = errors;
    if (first !== undefined) rejected.push(rejectionOf(name, first, errors.length - 1));
    else if (reading.read !== null) {
      folderOf.set(name, path);
      tasks.push({ ...reading.read, messages: findings.map(asMessage) });
    }
  }
  return { dir: root, tasks, rejected, messages };
}

function duplicate(path: string, { named }: ReadTask, twin: string): Finding {
  return {
    severity: 'error',
    file: join(path, named.file),
    key: 'task.name',
    line: named.line ?? null,
    reason: `is the name of ${twin} too: give each task of a set its own`,
    rejection: 'duplicate',
  };
}

interface OneReading {
  /** Relative to the set's folder; empty for a set of one. */
  readonly path: string;
  readonly name: string;
  readonly reading: TaskReading;
}

async function readOne(root: string, path: string, options: SetOptions): Promise<OneReading> {
  const dir = join(root, path);
  const { read, findings } = await readTask(dir, options);
  const added: Finding[] = [
    ...(read === null ? [] : refusals(read, options)),
    ...(await nestedTasks(dir)).map((name) => insideFinding(dir, name, read === null)),
  ];
  const all = [...findings, ...added].map((finding) => ({ ...finding, file: join(path, finding.file) }));
  const failed = all.some((finding) => finding.severity === 'error');
  return {
    path,
    name: read?.task.name ?? (await nameOf(dir)),
    reading: { read: failed ? null : read, findings: all },
  };
}

async function nameOf(dir: string): Promise<string> {
  try {
    return statedName(await readFile(join(dir, 'task.toml'))) ?? basename(dir);
  } catch (error) {
    if (faultOf(error) === null) throw error;
    return basename(dir);
  }
}

function refusals(read: ReadTask, options: SetOptions): Finding[] {
  return (options.unsupported?.(read.task) ?? []).map((need) => {
    const place = read.needs.find((source) => source.need === need)?.place ?? { file: 'task.toml' };
    return {
      severity: 'error',
      file: place.file,
      key: place.key ?? null,
      line: place.line ?? null,
      reason: `needs ${need}, which this driver cannot give`,
      rejection: 'unsupported',
    };
  });
}

/** A task inside a folder of the set: said, as it is not planned by itself. */
function insideFinding(dir: string, name: string, rejected: boolean): Finding {
  const outer = basename(dir);
  return {
    severity: 'warning',
    file: join(name, 'task.toml'),
    key: null,
    line: null,
    reason: rejected
      ? `is a task inside ${outer}: it is not read; give ${outer} as the set to read it`
      : `is a task inside another one, ${outer}: it is not planned by itself`,
    rejection: null,
  };
}

function rejectionOf(task: string, finding: Finding, rest: number): Rejection {
  const reason = finding.rejection ?? 'invalid';
  const more = rest === 0 ? '' : ` (and ${rest} more)`;
  const { file, key, line } = finding;
  return { task, file, key, line, reason, message: `${finding.reason}${more}` };
}

function asMessage({ severity, file, key, line, reason }: Finding): TaskMessage {
  return { severity, file, key, line, reason };
}
