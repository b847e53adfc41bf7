// What PID 1 keeps a sandbox within where nothing outside of it does, and how it says that it ended one (toolbox/PROTOCOL.md).
import type { SandboxSpec, SandboxState } from '../port.ts';

type Gone = Extract<SandboxState, { kind: 'gone' }>;

/** As many as a file system gives with so much space: ext4 has one for each 16 KiB. */
const filesPerMiB = 64;
/** No fewer than a delta may hold. */
const leastFiles = 200_000;
/** Above what a kubelet's podPidsLimit usually is: it is met only where there is none. */
const leastProcesses = 4_096;
const timesPids = 4;

/** Files that a sandbox may make, and processes and threads that it may run before all of it is ended. */
export function boundsOf({ diskMiB, pids }: Pick<SandboxSpec, 'diskMiB' | 'pids'>): {
  readonly files: number;
  readonly processes: number;
} {
  return {
    files: Math.max(leastFiles, Math.round(diskMiB * filesPerMiB)),
    processes: Math.max(leastProcesses, Math.round(pids * timesPids)),
  };
}

/** For `supervisor init`. */
export function boundsArguments(spec: Pick<SandboxSpec, 'diskMiB' | 'pids'>): readonly string[] {
  const { files, processes } = boundsOf(spec);
  return ['--max-files', String(files), '--max-processes', String(processes)];
}

const ends: ReadonlyMap<number, Omit<Gone, 'kind'>> = new Map([
  [71, { cause: 'self', why: 'exited', reason: 'it ran more processes and threads than it may' }],
  [73, { cause: 'self', why: 'disk', reason: 'it made more files than it may' }],
  [
    75,
    {
      ...{ cause: 'platform', why: 'evicted' },
      reason: 'its machine was out of memory, or of files, that it had not used up itself',
    },
  ],
]);

/** Why PID 1 ended a sandbox by itself, by its exit status; null where it did not. No process inside makes it end so. */
export function endedByBounds(exitStatus: number): Gone | null {
  const end = ends.get(exitStatus);
  return end === undefined ? null : { kind: 'gone', ...end };
}
