// A fresh sandbox for one verification: made, proved to be closed, used once, let go.
import { ClassifiedError } from '../../domain/errors.ts';
import type { Image, ServiceImages } from '../../domain/gate.ts';
import type { SandboxRecord } from '../../domain/verdict.ts';
import type { Sandbox, SandboxSpec } from '../../sandbox/port.ts';
import { proveClosed } from '../egress/prove.ts';
import { sandboxSpec } from '../provision.ts';
import { generationId, generationLabels, sandboxName } from '../sandbox-names.ts';
import type { Grading } from '../subject.ts';
import type { Run, World } from '../world.ts';
import { take } from './take.ts';

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
export type Place = Omit<SandboxRecord, 'phase' | 'step'>;

/**
 * Does `body` in a sandbox that nobody has touched. A later try of the activity takes up what an earlier one asked for
 * and had not begun with; what it began is not gone on with.
 */
export async function inFreshSandbox<T>(
  world: World,
  use: FreshUse,
  body: (sandbox: Sandbox, place: Place) => Promise<T>,
): Promise<T> {
  const { grading, run } = use;
  const sandbox = await untouched(world, use);
  try {
    const network = await proveClosed(world, { sandbox, grading, run });
    const { uid, host, imageDigest } = sandbox.identity;
    const { memoryEnds } = sandbox;
    return await body(sandbox, { uid, host, imageDigest, network, networkAtEnd: null, memoryEnds });
  } finally {
    await sandbox.close();
    const { name } = sandbox.identity;
    if (use.outsideGenerations === true) await destroy(world, name);
    else letGo(world, name);
  }
}

/** The sandbox of this try, taken: one that still waits for an earlier try, else a new one. */
async function untouched(world: World, use: FreshUse): Promise<Sandbox> {
  const { run } = use;
  const specOf = specsOf(world, use);
  if (run.attempt === 1) {
    const first = await created(world, await specOf(1), run.signal);
    if (first !== null) return first;
    // Asked for anew, an activity counts its tries from 1 again: this one is not the first.
  }
  const earlier = await leftByEarlierTries(world, use);
  for (const ordinal of earlier) {
    const spec = await specOf(ordinal);
    const sandbox = await waiting(world, spec, run.signal);
    if (sandbox !== null) return sandbox;
    await world.sandboxes.destroy(spec.name);
  }
  const spec = await specOf(Math.max(run.attempt, 1 + (earlier.at(-1) ?? 0)));
  const sandbox = await created(world, spec, run.signal);
  if (sandbox !== null) return sandbox;
  throw new ClassifiedError('ExecBroken', `another try works in ${spec.name}`);
}

const phaseOf = (phase: string, ordinal: number): string => (ordinal === 1 ? phase : `${phase}-a${ordinal}`);

/** Each try has a name of its own: where its worker comes late and removes what it made, it is nobody else's. */
function specsOf(world: World, use: FreshUse): (ordinal: number) => Promise<SandboxSpec> {
  const { grading, phase, image, serviceImages, env, ownWorkdir = false, run } = use;
  return (ordinal) =>
    sandboxSpec(world, grading, {
      phase: phaseOf(phase, ordinal),
      ...{ image, serviceImages, env, ownWorkdir },
      workflow: run.workflow,
      baseline: false,
    });
}

/** Ordinals of the tries whose sandboxes are still there, in their order. */
async function leftByEarlierTries(world: World, { grading, phase }: FreshUse): Promise<readonly number[]> {
  const generation = generationId(await world.storeId(), grading);
  const names = (await world.driver.list(generationLabels(generation))).map(({ name }) => name);
  const ordinals = names.map((name) => Number(/-a(\d+)$/.exec(name)?.[1] ?? 1));
  return [...new Set(ordinals)]
    .filter((ordinal) => names.includes(sandboxName(generation, phaseOf(phase, ordinal))))
    .toSorted((one, other) => one - other);
}

/** That of an earlier try, taken; null where that try had begun with it, or where it is of no use any more. */
async function waiting(world: World, spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox | null> {
  try {
    return await created(world, spec, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isUnanswered(error)) throw error;
    return null;
  }
}

const isUnanswered = (error: unknown): boolean =>
  error instanceof ClassifiedError && error.failureClass === 'PlatformUnavailable';

/**
 * Made or adopted, and taken; null where it is another's. Where the platform has no room or does not answer it stays,
 * and with it its turn; where it could not be reached, or its making was cancelled, it does not.
 */
async function created(world: World, spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox | null> {
  try {
    const sandbox = await world.driver.create(spec, signal);
    try {
      if (await take(sandbox, 'sandbox', signal)) return sandbox;
    } catch (error) {
      await sandbox.close();
      throw error;
    }
    await sandbox.close();
    return null;
  } catch (error) {
    if (!isUnanswered(error) || signal.aborted) await destroy(world, spec.name);
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
