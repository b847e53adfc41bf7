// Provision: the agent's sandbox of a generation, created or adopted, with its identity stored.
import type { Image, ServiceImages } from '../domain/gate.ts';
import type { Sandbox, SandboxSpec } from '../sandbox/port.ts';
import { envOf } from './environment.ts';
import { readGround } from './ground.ts';
import { endPhase, needPhase, phases, readPhase } from './phase-records.ts';
import { lifetimeSecOf } from './sandbox-lifetime.ts';
import { generationId, sandboxLabels, sandboxName } from './sandbox-names.ts';
import { servicesOf } from './services.ts';
import { resolveSubject, type Grading } from './subject.ts';
import type { PhaseInput, ProvisionOutcome } from './types.ts';
import type { Run, World } from './world.ts';

export async function provision(world: World, { subject }: PhaseInput, run: Run): Promise<ProvisionOutcome> {
  const grading = await resolveSubject(world, subject);
  const before = await readPhase(world, phases.provision(grading));
  if (before !== null) return { uid: before.sandbox.uid, host: before.sandbox.host };
  const { image, serviceImages } = await readGround(world, grading);
  const startedAt = world.now().toISOString();
  const spec = await sandboxSpec(world, grading, {
    phase: 'agent',
    image,
    serviceImages,
    env: envOf(world, grading.task.task.env),
    workflow: run.workflow,
    baseline: true,
  });
  const sandbox = await world.driver.create(spec, run.signal);
  await world.sandboxes.keep(sandbox);
  const record = await endPhase(world, phases.provision(grading), {
    format: 'passband.phase.provision',
    version: 1,
    sandbox: sandbox.identity,
    image,
    startedAt,
  });
  return { uid: record.sandbox.uid, host: record.sandbox.host };
}

/** The agent's sandbox. @throws SandboxGone where it is not the one that was provisioned */
export async function openAgentSandbox(world: World, grading: Grading): Promise<Sandbox> {
  const { sandbox } = await needPhase(world, phases.provision(grading));
  return world.sandboxes.open(sandbox);
}

export interface SandboxUse {
  /** The last part of the name. */
  readonly phase: string;
  readonly image: Image;
  /** The task's services are beside it; absent: they are not, or there are none. */
  readonly serviceImages?: ServiceImages | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** Who asks for it. */
  readonly workflow: string;
  /** Its delta will be taken. */
  readonly baseline: boolean;
  /** The image is not the task's: its own work directory stands. */
  readonly ownWorkdir?: boolean;
}

/** The sandbox of one phase, with the task's limits. */
export async function sandboxSpec(
  world: World,
  grading: Pick<Grading, 'plan' | 'task' | 'name' | 'generation'>,
  { phase, image, serviceImages, env, workflow, baseline, ownWorkdir = false }: SandboxUse,
): Promise<SandboxSpec> {
  const storeId = await world.storeId();
  const { task } = grading.task;
  const { limits } = task;
  const services = servicesOf(task, serviceImages);
  return {
    name: sandboxName(generationId(storeId, grading), phase),
    image,
    labels: sandboxLabels({ storeId, grading, phase, workflow }),
    cpus: limits.cpus.value,
    memoryMiB: limits.memoryMiB.value,
    diskMiB: limits.diskMiB.value,
    pids: limits.pids.value,
    env,
    workdir: ownWorkdir ? null : task.workdir,
    baseline,
    lifetimeSec: lifetimeSecOf(task),
    network: grading.plan.network === 'as-declared' && task.networkMode === 'public' ? 'as-declared' : 'deny',
    ...(services === undefined ? {} : { services }),
  };
}
