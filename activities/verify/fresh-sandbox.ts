// A fresh sandbox for one verification: made, proved to be closed, used once, let go.
import type { Image, ServiceImages } from '../../domain/gate.ts';
import type { SandboxRecord } from '../../domain/verdict.ts';
import type { Sandbox, SandboxSpec } from '../../sandbox/port.ts';
import { proveClosed } from '../egress/prove.ts';
import { sandboxSpec } from '../provision.ts';
import type { Grading } from '../subject.ts';
import type { Run, World } from '../world.ts';

export interface FreshUse {
  readonly grading: Grading;
  /** `verifier-0`: a part of the sandbox's name. */
  readonly phase: string;
  readonly image: Image;
  /** The task's services run beside it; absent: they do not, or there are none. */
  readonly serviceImages?: ServiceImages | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** The image is a verifier's own: the task's work directory is not in it. */
  readonly ownWorkdir?: boolean;
  /** No clean-up of a generation comes after it: its removal is waited for, where others only begin theirs. */
  readonly outsideGenerations?: boolean;
  readonly run: Run;
}

/** Where a sandbox was, as the verdict tells it. */
export type Place = Pick<SandboxRecord, 'uid' | 'host' | 'imageDigest' | 'network' | 'networkAtEnd'>;

/**
 * Does `body` in a sandbox that nobody has touched. A later try of the activity gets another one: what an earlier
 * try began in its own is not gone on with.
 */
export async function inFreshSandbox<T>(
  world: World,
  use: FreshUse,
  body: (sandbox: Sandbox, place: Place) => Promise<T>,
): Promise<T> {
  const { grading, image, serviceImages, env, ownWorkdir = false, run } = use;
  const phaseOf = (attempt: number): string => (attempt === 1 ? use.phase : `${use.phase}-a${attempt}`);
  const specOf = (attempt: number) =>
    sandboxSpec(world, grading, {
      phase: phaseOf(attempt),
      image,
      serviceImages,
      env,
      ownWorkdir,
      workflow: run.workflow,
      baseline: false,
    });
  if (run.attempt > 1) await world.sandboxes.destroy((await specOf(run.attempt - 1)).name);
  const spec = await specOf(run.attempt);
  const sandbox = await create(world, spec, run.signal);
  try {
    const network = await proveClosed(world, { sandbox, grading, run });
    const { uid, host, imageDigest } = sandbox.identity;
    return await body(sandbox, { uid, host, imageDigest, network, networkAtEnd: null });
  } finally {
    await sandbox.close();
    if (use.outsideGenerations === true) await destroy(world, spec.name);
    else letGo(world, spec.name);
  }
}

/** A sandbox that was made and could not be reached, or was cancelled while it was made, is not left either. */
async function create(world: World, spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
  try {
    return await world.driver.create(spec, signal);
  } catch (error) {
    await destroy(world, spec.name);
    throw error;
  }
}

/** What was found out stands whether or not the sandbox goes away. */
async function destroy(world: World, name: string): Promise<void> {
  try {
    await world.sandboxes.destroy(name);
  } catch (error) {
    saySo(world, name, error);
  }
}

const letGo = (world: World, name: string): void =>
  world.sandboxes.letGo(name, (error) => saySo(world, name, error));

const saySo = (world: World, name: string, error: unknown): void =>
  world.log.warn({ sandbox: name, error: String(error) }, 'a sandbox stays until its clean-up');
