// The two digests of a task: of what acts on a trial, and of its solution. Names, dates and prose are no part of them.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { TaskServices } from '../domain/services.ts';
import type { Limit, Limits, Task } from '../domain/task.ts';
import { byPath, isInContext, isWithin, type TaskFile } from './files.ts';

/**
 * sha256 over canonical JSON (RFC 8785) of the instructions, the environment's and the verifier's files with their
 * exec bits, and the values of task.toml that act. Independent of times, order, name, description, [metadata], of
 * who set a limit, and of the values that ${VAR} templates have on this machine.
 */
export function digestTask(task: Task, files: readonly TaskFile[]): string {
  const acting = {
    version: 1,
    image: task.image,
    buildTimeoutSec: task.buildTimeoutSec.value,
    verifierImage: task.verifierImage,
    environmentMode: task.environmentMode,
    networkMode: task.networkMode,
    networkDeclared: task.networkDeclared,
    env: task.env,
    workdir: task.workdir,
    healthcheck: task.healthcheck,
    limits: valuesOf(task.limits),
    collect: task.collect,
    rewardStrategy: task.rewardStrategy,
    multiStep: task.multiStep,
    needs: [...task.needs].sort(),
    // Absent where there are none: the digest of a task of one container is what it was.
    ...(task.services === undefined ? {} : { services: task.services }),
    steps: task.steps.map((step) => ({
      ...step,
      solutionDir: null,
      agentSec: step.agentSec.value,
      verifierSec: step.verifierSec.value,
    })),
    files: listed(files, (path) => acts(task, path)),
  };
  return digestOf(acting);
}

/** The same of the solution's files and environment; null where no step has a solution. */
export function digestSolution(task: Task, files: readonly TaskFile[]): string | null {
  const dirs = task.steps.flatMap((step) => step.solutionDir ?? []);
  if (dirs.length === 0) return null;
  return digestOf({
    version: 1,
    env: task.solutionEnv,
    steps: task.steps.map((step) => step.solutionDir),
    files: listed(files, (path) => dirs.some((dir) => isWithin(path, dir))),
  });
}

/** Digest of a build context: the same files give the same image. */
export function digestContext(files: readonly TaskFile[]): string {
  return digestOf({ version: 1, files: listed(files, () => true) });
}

function acts(task: Task, path: string): boolean {
  const laid = task.steps.flatMap((step) => [
    ...step.testsDirs,
    ...(step.workdirDir === null ? [] : [step.workdirDir]),
  ]);
  if (laid.some((dir) => isWithin(path, dir))) return true;
  if (task.services !== undefined && isOfServices(task.services, path)) return true;
  return task.image.kind === 'build' && isInContext(path, task.image.dir);
}

/** The compose file with all beside it, what the sidecars are built from, and what is bound into any of them. */
function isOfServices({ main, sidecars }: TaskServices, path: string): boolean {
  const bound = [main, ...sidecars].flatMap(({ mounts }) =>
    mounts.flatMap((mount) => (mount.kind === 'files' ? [mount.source] : [])),
  );
  if (['environment', ...bound].some((dir) => isWithin(path, dir))) return true;
  return sidecars.some(({ image }) => image.kind === 'build' && isInContext(path, image.dir));
}

function valuesOf(limits: Limits): Record<string, number> {
  return Object.fromEntries(
    Object.entries(limits).map(([name, limit]: [string, Limit]) => [name, limit.value]),
  );
}

function listed(files: readonly TaskFile[], wanted: (path: string) => boolean): TaskFile[] {
  return files
    .filter((file) => wanted(file.path))
    .map(({ path, kind, executable, bytes, sha256, target }) => ({
      path,
      kind,
      executable,
      bytes,
      sha256,
      target,
    }))
    .sort(byPath);
}

/** sha256 in hex of a value's canonical JSON (RFC 8785): equal values have equal digests. */
export function digestOf(value: object): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('a digest is taken of JSON only');
  return createHash('sha256').update(text).digest('hex');
}
