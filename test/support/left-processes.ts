// Processes as /proc lists them: the children of one, and all that carry a mark in their environment.
import { readFile, readdir } from 'node:fs/promises';

export interface LiveProcess {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** What /proc holds of a process, null where it has ended meanwhile or is only waited for. */
async function readProcess(pid: number): Promise<LiveProcess | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z') return null;
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
    return { pid, parent: Number(parent), command: command.replaceAll('\0', ' ').trim() };
  } catch {
    return null;
  }
}

async function allPids(): Promise<number[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
}

async function allProcesses(): Promise<LiveProcess[]> {
  const all = await Promise.all((await allPids()).map(readProcess));
  return all.filter((found) => found !== null);
}

export async function childrenOf(parent: number): Promise<LiveProcess[]> {
  return (await allProcesses()).filter((found) => found.parent === parent);
}

/** Processes of any namespace that is visible from here whose command line begins so. */
export async function processesRunning(command: string): Promise<LiveProcess[]> {
  return (await allProcesses()).filter((found) => found.command.startsWith(command));
}

/** Processes that name something anywhere in their command line. */
export async function processesNaming(text: string): Promise<LiveProcess[]> {
  return (await allProcesses()).filter((found) => found.command.includes(text));
}

/** Processes whose environment holds `NAME=VALUE`, whoever their parent is by now. */
export async function processesMarked(assignment: string): Promise<LiveProcess[]> {
  const found: LiveProcess[] = [];
  for (const pid of await allPids()) {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (!environment.split('\0').includes(assignment)) continue;
    const live = await readProcess(pid);
    if (live !== null) found.push(live);
  }
  return found;
}
