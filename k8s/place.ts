// Brings a pod to run: made or adopted, then waited for, each thing that may hold it up told apart.
import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import { ClassifiedError } from '../domain/errors.ts';
import { SandboxGone } from '../sandbox/port.ts';
import { InTheWay, QuotaExceeded } from './kube-errors.ts';
import { keys } from './labels.ts';
import type { Nodes } from './nodes.ts';
import type { ObservedPod } from './observed-pod.ts';
import { progressError, progressOf, roomAgainMs, type Progress } from './pod-progress.ts';
import { deletedState, endedContainers, endOf, refusedStart, runtimeRefusal } from './pod-state.ts';
import type { Pods } from './pods.ts';
import type { PodsWatch } from './pods-watch.ts';
import { summedRequests } from './scheduling.ts';

/** How long a name may stay taken by a pod that is going or gone. */
const nameTakenMs = 30_000;
const nameLookMs = 250;
/** A pod that the quota refused is asked for again this often. */
const quotaPauseMs = 2_000;
/** Where no node is of the kind that it asks for, one has this long to come. */
const hopelessMs = 30_000;

export interface PlaceParts {
  readonly pods: Pods;
  readonly watch: PodsWatch;
  readonly nodes: Nodes;
  readonly placeSec: number;
}

/**
 * The pod of this name, running. Throws the signal's reason, SandboxGone where it ended or was removed, or
 * ClassifiedError: `PlatformUnavailable` where there is no room or quota yet (asked again, after the delay that it names,
 * it waits on for the same pod), `SandboxUnschedulable`, `ImageMissing`, `ImagePullTransient`, `TaskInvalid`, `Forbidden`, `ConfigInvalid`.
 */
export async function place(parts: PlaceParts, manifest: V1Pod, signal?: AbortSignal): Promise<ObservedPod> {
  const late = AbortSignal.timeout(parts.placeSec * 1_000);
  const done = new AbortController();
  const either = AbortSignal.any([late, done.signal, ...(signal === undefined ? [] : [signal])]);
  const made = await makeOrAdopt(parts, manifest, { signal, late });
  const { name, uid } = made.metadata;
  let last: Progress | null = null;
  let hopelessSinceMs: number | null = null;
  const look = (pod: ObservedPod | null): ObservedPod | null => {
    if (pod === null) throw new SandboxGone(deletedState(name));
    if (pod.metadata.uid !== uid) {
      throw new SandboxGone({ kind: 'replaced', reason: `another pod has the name ${name}` });
    }
    const progress = progressOf(pod);
    last = progress;
    if (progress.kind === 'running' || progress.kind === 'ended') return pod;
    if (progress.kind === 'refused') throw progressError(name, progress);
    hopelessSinceMs = progress.hopeless ? (hopelessSinceMs ?? performance.now()) : null;
    const waitedMs = hopelessSinceMs === null ? 0 : performance.now() - hopelessSinceMs;
    if (waitedMs > hopelessMs) throw progressError(name, progress);
    return null;
  };
  try {
    const pod = await Promise.race([
      parts.watch.wait(made, look, either),
      beyondEveryNode(parts, manifest, () => last, either),
    ]);
    if (progressOf(pod).kind === 'running') return pod;
    throw await stillborn(parts.pods, pod);
  } catch (error) {
    signal?.throwIfAborted();
    if (!late.aborted || error instanceof ClassifiedError || error instanceof SandboxGone) throw error;
    throw tooLate(name, last, parts.placeSec);
  } finally {
    done.abort();
  }
}

function tooLate(name: string, last: Progress | null, placeSec: number): ClassifiedError {
  if (last !== null && (last.kind === 'waiting' || last.kind === 'refused')) return progressError(name, last);
  return new ClassifiedError(
    'PlatformUnavailable',
    `pod ${name} does not start: nothing heard for ${placeSec} s`,
  );
}

interface Limits {
  readonly signal: AbortSignal | undefined;
  readonly late: AbortSignal;
}

/** The pod as it was made now, by a call that was cut (C43), or by another worker. */
async function makeOrAdopt(
  { pods }: PlaceParts,
  manifest: V1Pod,
  { signal, late }: Limits,
): Promise<ObservedPod> {
  const name = manifest.metadata?.name ?? '';
  const until = performance.now() + nameTakenMs;
  for (;;) {
    try {
      return await pods.create(manifest, signal);
    } catch (error) {
      if (error instanceof QuotaExceeded) {
        if (late.aborted) throw quotaError(name, error);
        await sleep(quotaPauseMs, undefined, { signal });
        continue;
      }
      if (!(error instanceof InTheWay)) throw error;
    }
    const found = await pods.find(name, { signal });
    if (found !== null && found.metadata.deletionTimestamp === undefined) return adopted(found, manifest);
    // Its name is taken before it can be seen, and after it could be: somebody is making or removing it.
    if (performance.now() > until) {
      const message = `the name ${name} stays taken by a pod that is being removed`;
      throw new ClassifiedError('PlatformUnavailable', message);
    }
    await sleep(nameLookMs, undefined, { signal });
  }
}

function adopted(found: ObservedPod, manifest: V1Pod): ObservedPod {
  const { name, annotations } = found.metadata;
  if (annotations[keys.spec] === manifest.metadata?.annotations?.[keys.spec]) return found;
  throw new ClassifiedError('Unexpected', `a pod named ${name} is there, made for something else`);
}

const quotaError = (name: string, cause: QuotaExceeded): ClassifiedError =>
  new ClassifiedError('PlatformUnavailable', `pod ${name} waits for quota: ${cause.message}`, {
    ...{ cause, retryAfterMs: roomAgainMs },
  });

/** Rejects where the pod waits for room that no node has even when it is empty; else never settles. */
async function beyondEveryNode(
  { nodes }: PlaceParts,
  manifest: V1Pod,
  last: () => Progress | null,
  signal: AbortSignal,
): Promise<never> {
  await sleep(nodeLookMs, undefined, { signal });
  const progress = last();
  if (progress?.kind === 'waiting' && /insufficient/i.test(progress.reason)) {
    const requests = summedRequests(manifest.spec?.containers ?? []);
    const beyond = await nodes.beyond(requests, signal);
    if (beyond.length > 0) {
      const message = `no node has what pod ${manifest.metadata?.name ?? ''} asks for: ${beyond.join(', ')}`;
      throw new ClassifiedError('SandboxUnschedulable', message);
    }
  }
  return new Promise<never>(() => undefined);
}

/** The scheduler has said by then what it makes of the pod. */
const nodeLookMs = 3_000;

/**
 * What `error` is of a pod that ran for a moment: where it has ended by its image, TaskInvalid; else itself. A node tells
 * of a container that runs before it tells of its end, and in between the pod looks like any other.
 */
export async function startError(
  pods: Pick<Pods, 'find' | 'logOf'>,
  { metadata: { name, uid } }: ObservedPod,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof SandboxGone)) return error;
  const pod = await pods.find(name);
  if (pod?.metadata.uid !== uid || endedContainers(pod).length === 0) return error;
  const why = await stillborn(pods, pod);
  return why instanceof ClassifiedError ? why : error;
}

/** A supervisor that the image gives no ground to stand on (a USER that it does not have, say) names it in its log. */
async function stillborn(pods: Pick<Pods, 'logOf'>, pod: ObservedPod): Promise<Error> {
  const { name } = pod.metadata;
  const refusal = runtimeRefusal(pod);
  if (refusal !== null) return new ClassifiedError('TaskInvalid', `pod ${name} cannot start: ${refusal}`);
  const gone = new SandboxGone(endOf(pod));
  const refused = refusedStart(pod);
  if (refused === null) return gone;
  const { image = '' } = pod.spec.containers.find((container) => container.name === refused) ?? {};
  const log = await pods.logOf(name, refused);
  return new ClassifiedError('TaskInvalid', `a sandbox of ${image} cannot start: ${log}`, { cause: gone });
}
