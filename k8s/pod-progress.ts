// How far a new pod has come: what it waits for, and whether waiting mends it.
import { ClassifiedError } from '../domain/errors.ts';
import type { FailureClass } from '../domain/failures.ts';
import { conditionOf, startOf, type ContainerStatus, type ObservedPod } from './observed-pod.ts';
import { endedContainers, hasEnded, unstartable } from './pod-state.ts';
import { waitsForPlace } from './scheduling.ts';

export type Progress =
  | { readonly kind: 'running' }
  | { readonly kind: 'ended' }
  /** No wait mends it. */
  | { readonly kind: 'refused'; readonly failureClass: FailureClass; readonly reason: string }
  | {
      readonly kind: 'waiting';
      /** What it is when the time is up. */
      readonly late: FailureClass;
      readonly reason: string;
      /** No node is of the kind that it asks for: it waits for one to come, and not for room. */
      readonly hopeless: boolean;
      /** There is no room for it just now. */
      readonly full: boolean;
    };

/** The registry says that there is no such image. */
const missing =
  /: not found\b|manifest unknown|name unknown|repository does not exist|no match for platform|unexpected media type/i;
/** The registry says that it is not for us. */
const forbidden =
  /\b40[13]\b|unauthorized|forbidden|authorization failed|no basic auth credentials|access denied/i;
/** A registry that is there and has no answer just now says so with one of these; they win over all other words. */
const transient =
  /\b429\b|too ?many ?requests|\b50[0234]\b|timeout|timed out|connection re(fused|set)|EOF|no such host/i;

const pullReasons: ReadonlySet<string> = new Set([
  ...['ErrImagePull', 'ImagePullBackOff', 'RegistryUnavailable', 'ImageInspectError', 'ErrImageNeverPull'],
]);

/** A cluster without room is asked again after this, for as long as it takes. */
export const roomAgainMs = 1_000;

const waiting = (late: FailureClass, reason: string): Progress => ({
  ...{ kind: 'waiting', late, reason, hopeless: false, full: false },
});

/** A pod of ours between its making and its first command. */
export function progressOf(pod: ObservedPod): Progress {
  const unfilled = unfilledVolume(pod);
  if (unfilled !== null) return unfilled;
  // One container that ended before all run is none that the others can go on without.
  if (hasEnded(pod) || endedContainers(pod).length > 0) return { kind: 'ended' };
  if (pod.spec.containers.every(({ name }) => startOf(pod, name) !== null)) return { kind: 'running' };
  const scheduled = conditionOf(pod, 'PodScheduled');
  if (scheduled !== null && scheduled.status !== 'True') {
    const { hopeless, reason } = waitsForPlace(scheduled.message ?? scheduled.reason ?? '');
    const late = hopeless ? 'SandboxUnschedulable' : 'PlatformUnavailable';
    return { kind: 'waiting', late, reason, hopeless, full: !hopeless };
  }
  const { reason = '', message = '' } = heldUpBy(pod);
  return waitingOf(reason, shortened(message));
}

/** What its first container that waits for more than its turn says. */
function heldUpBy({ status }: ObservedPod): NonNullable<ContainerStatus['state']['waiting']> {
  const all = [...status.initContainerStatuses, ...status.containerStatuses];
  const waits = all.flatMap(({ state }) => state.waiting ?? []);
  return waits.find(({ reason }) => !turnReasons.has(reason ?? '')) ?? waits[0] ?? {};
}

const turnReasons: ReadonlySet<string> = new Set(['', 'PodInitializing', 'ContainerCreating']);

/** How our own program ends that fills a shared volume where it cannot; any other end was done to it. */
const unfilledStatus = 1;

/** What fills a shared volume is in the image: another node changes nothing. */
function unfilledVolume({ status }: ObservedPod): Progress | null {
  const ended = status.initContainerStatuses.flatMap(({ state }) => state.terminated ?? []);
  const failed = ended.find(({ exitCode }) => exitCode === unfilledStatus);
  if (failed === undefined || status.reason !== undefined) return null;
  const reason = `a shared volume could not be begun: ${shortened(failed.message ?? '')}`;
  return { kind: 'refused', failureClass: 'TaskInvalid', reason };
}

function waitingOf(reason: string, message: string): Progress {
  const words = message === '' ? reason : `${reason}: ${message}`;
  if (pullReasons.has(reason)) return pullOf(message, words);
  switch (reason) {
    case 'InvalidImageName':
      return { kind: 'refused', failureClass: 'TaskInvalid', reason: words };
    case 'CreateContainerConfigError':
    case 'CreateContainerError':
    case 'RunContainerError':
    case 'StartError':
    case 'CrashLoopBackOff':
      return unstartable.test(message)
        ? { kind: 'refused', failureClass: 'TaskInvalid', reason: words }
        : waiting('PlatformUnavailable', words);
    default:
      return waiting('PlatformUnavailable', words === '' ? 'no node has begun with it' : words);
  }
}

function pullOf(message: string, words: string): Progress {
  if (!transient.test(message)) {
    if (missing.test(message)) return { kind: 'refused', failureClass: 'ImageMissing', reason: words };
    if (forbidden.test(message)) return { kind: 'refused', failureClass: 'Forbidden', reason: words };
  }
  return waiting('ImagePullTransient', words);
}

/** The error of a pod that did not come to run: refused, or too late. */
export function progressError(
  name: string,
  progress: Extract<Progress, { kind: 'waiting' | 'refused' }>,
): ClassifiedError {
  const message = `pod ${name} does not start: ${progress.reason}`;
  if (progress.kind === 'refused') return new ClassifiedError(progress.failureClass, message);
  return new ClassifiedError(progress.late, message, progress.full ? { retryAfterMs: roomAgainMs } : {});
}

const shortened = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, 800);
