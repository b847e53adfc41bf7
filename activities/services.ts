// The services of a task: what a sandbox's spec says of them, and their start behind the network barrier.
import { ClassifiedError } from '../domain/errors.ts';
import type { ServiceImages } from '../domain/gate.ts';
import type { Task } from '../domain/task.ts';
import { SandboxGone, type Sandbox } from '../sandbox/port.ts';
import { layMounts, type BoundFiles } from '../sandbox/services/lay-mounts.ts';
import { servicePort } from '../sandbox/services/service-port.ts';
import { sandboxServices, type SandboxServices } from '../sandbox/services/spec.ts';
import { ServiceFailed, startServices, type StartingService } from '../sandbox/services/start-services.ts';
import { startingServices } from '../sandbox/services/starting.ts';
import type { TaskPackage } from '../tasks/open-package.ts';
import type { Grading } from './subject.ts';
import type { Run, World } from './world.ts';

/** As a spec has them; undefined where there are none, or no images were made for them. */
export function servicesOf(
  { services }: Pick<Task, 'services'>,
  images: ServiceImages | undefined,
): SandboxServices | undefined {
  if (services === undefined || images === undefined) return undefined;
  return sandboxServices(services, new Map(Object.entries(images)));
}

export interface ServicesStart {
  readonly sandbox: Sandbox;
  readonly grading: Pick<Grading, 'task' | 'actor'>;
  readonly run: Pick<Run, 'attempt' | 'signal'>;
  /** In a verifier what `main` itself starts is not started. */
  readonly of: 'agent' | 'verifier';
}

/**
 * Lays what services mount, starts them in their order, and waits until all are there. What goes wrong with one is at the
 * gate the task's own; after a gate that passed it is this machine's, and the trial starts over.
 * @throws ClassifiedError TaskInvalid or SandboxLost; SandboxGone
 */
export async function startTaskServices(world: World, start: ServicesStart): Promise<void> {
  const { sandbox, grading, run } = start;
  const { limits } = grading.task.task;
  const late = AbortSignal.timeout(limits.setupSec.value * 1_000);
  const fault = (message: string, cause: unknown): ClassifiedError =>
    new ClassifiedError(grading.actor.kind === 'gate' ? 'TaskInvalid' : 'SandboxLost', message, { cause });
  try {
    await laidAndStarted(world, start, AbortSignal.any([run.signal, late]));
  } catch (error) {
    run.signal.throwIfAborted();
    if (late.aborted) throw fault(`services are not ready after ${limits.setupSec.value} s`, error);
    if (error instanceof ServiceFailed) throw fault(error.message, error);
    const ended = await endOfService(error, sandbox);
    throw ended === null ? error : fault(ended, error);
  }
}

/** Why a service takes no command any more, where its own container has ended and the sandbox goes on; else null. */
export async function endOfService(error: unknown, sandbox: Sandbox): Promise<string | null> {
  return error instanceof SandboxGone && (await sandbox.state()).kind === 'alive' ? error.message : null;
}

async function laidAndStarted(
  world: World,
  { sandbox, grading, run, of }: ServicesStart,
  signal: AbortSignal,
): Promise<void> {
  const { services } = grading.task.task;
  if (services === undefined) return;
  const { main, sidecars } = services;
  const containers = new Map([['main', sandbox], ...sandbox.services]);
  const files = filesOf(await world.packages.of(grading.task));
  const mounting = [{ name: 'main', mounts: main.mounts }, ...sidecars];
  await Promise.all(
    mounting.map(async ({ name, mounts }) => {
      const container = containers.get(name);
      if (container === undefined) throw new ServiceFailed(name, 'has ended: its container is not there');
      await layMounts(container, mounts, files);
    }),
  );
  const starting = startingServices(services, imagesOf(sandbox));
  const wanted = of === 'agent' ? starting : withoutMain(starting);
  await startServices(wanted, servicePort(containers, run.attempt), signal);
}

function imagesOf(sandbox: Sandbox): ReadonlyMap<string, Sandbox['image']> {
  const sidecars = [...sandbox.services].map(([name, { image }]) => [name, image] as const);
  return new Map([['main', sandbox.image], ...sidecars]);
}

/** Nobody waits for what is not started. */
const withoutMain = (starting: readonly StartingService[]): readonly StartingService[] =>
  starting
    .filter(({ name }) => name !== 'main')
    .map((service) => ({
      ...service,
      dependsOn: service.dependsOn.filter((dependency) => dependency.service !== 'main'),
    }));

const filesOf =
  (task: TaskPackage) =>
  (source: string): BoundFiles => {
    const isFolder = task.files.find(({ path }) => path === source)?.kind === 'directory';
    return { isFolder, tar: (name) => (isFolder ? task.folder(source) : task.file(source, name)) };
  };
