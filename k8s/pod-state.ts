// What the API server's word about a pod means for the sandbox in it.
import { endedByBounds } from '../sandbox/supervised/bounds.ts';
import { supervisorConfigStatus, supervisorFaultStatus } from '../sandbox/supervised/supervisor.ts';
import type { SandboxState } from '../sandbox/port.ts';
import { conditionOf, lifeOf, mainStatus, statusOf, type ObservedPod } from './observed-pod.ts';

type Gone = Extract<SandboxState, { kind: 'gone' }>;
type Terminated = NonNullable<NonNullable<ReturnType<typeof mainStatus>>['state']['terminated']>;

/** How the supervisor's runtime ends where it gets no memory or thread any more: what runs beside it took them. */
const crashed = 2;
/** SIGKILL. */
const killed = 137;

/** The kubelet's words where a pod used up its own disk, and not its node's. */
const ownDisk =
  /ephemeral (local )?storage (usage exceeds|limit)|exceeded its local ephemeral storage limit|usage of emptydir volume/i;

/** Reasons of a pod, or of its DisruptionTarget, under which its machine went away. */
const hostReasons: ReadonlySet<string> = new Set([
  ...['NodeLost', 'NodeShutdown', 'Shutdown', 'Terminated', 'TerminationByKubelet'],
  ...['DeletionByPodGC', 'DeletionByTaintManager', 'NodeAffinity'],
]);
/** Reasons under which something that mattered more took its place. */
const evictedReasons: ReadonlySet<string> = new Set([
  ...['Evicted', 'Preempting', 'Preempted', 'PreemptionByScheduler', 'EvictionByEvictionAPI'],
]);

/** No such program, or none for this machine. */
export const unstartable = /no such file|exec format|permission denied|not a directory|is a directory/i;

const gone = (cause: Gone['cause'], why: Gone['why'], reason: string): Gone => ({
  kind: 'gone',
  cause,
  why,
  reason,
});

export interface Expected {
  readonly uid: string;
  /** As `lifeOf` told it when the sandbox was made. */
  readonly startedAt: string;
  readonly nodeGraceSec: number;
}

/** `pod` null: there is none of this name. `nowMs`: to tell how long a node has been silent. */
export function stateOf(pod: ObservedPod | null, expected: Expected, nowMs: number): SandboxState {
  if (pod === null) return deletedState('it');
  const { name, uid } = pod.metadata;
  if (uid !== expected.uid) return { kind: 'replaced', reason: `another pod has the name ${name}` };
  if (hasEnded(pod)) return endOf(pod);
  if (pod.metadata.deletionTimestamp !== undefined) return deletionOf(pod);
  const life = lifeOf(pod);
  if (life !== null && life !== expected.startedAt) {
    return { kind: 'restarted', reason: `a container of pod ${name} was started anew: ${life}` };
  }
  return lostService(pod) ?? silentState(pod, expected, nowMs) ?? { kind: 'alive' };
}

export const deletedState = (what: string): Gone =>
  gone('platform', 'deleted', `${what === 'it' ? 'the pod' : `pod ${what}`} was deleted from outside`);

/** Of the container of a service, which its pod outlives; null while it goes on. */
export function serviceEnd(
  pod: ObservedPod,
  { name, container }: { readonly name: string; readonly container: string },
): Gone | null {
  const terminated = statusOf(pod, container)?.state.terminated;
  return terminated === undefined ? null : serviceGone(name, terminated);
}

function serviceGone(name: string, terminated: Terminated): Gone {
  const { exitCode, reason } = terminated;
  const told = toldByPid1(terminated);
  if (told !== null) return { ...told, reason: `the container of service ${name} ended: ${told.reason}` };
  const oom = reason === 'OOMKilled';
  const how = oom ? 'for the memory that its processes took' : `with exit status ${exitCode}`;
  return gone('self', oom ? 'oom' : 'exited', `the container of service ${name} ended ${how}`);
}

/** A sandbox goes on without a service that ended by itself, and not without one that its machine took. */
function lostService(pod: ObservedPod): Gone | null {
  for (const { name, terminated } of endedContainers(pod)) {
    if (toldByPid1(terminated)?.cause === 'platform') return serviceGone(name, terminated);
  }
  return null;
}

/** Whether its container has ended, or the whole pod. */
export function hasEnded(pod: ObservedPod): boolean {
  const { phase } = pod.status;
  return phase === 'Failed' || phase === 'Succeeded' || mainStatus(pod)?.state.terminated !== undefined;
}

/** Why a pod that has ended did. */
export function endOf(pod: ObservedPod): Gone {
  const { reason, message } = pod.status;
  const words = wordsOf(reason, message);
  const terminated = mainStatus(pod)?.state.terminated;
  if (reason === 'Evicted') {
    return ownDisk.test(message ?? '')
      ? gone('self', 'disk', `the sandbox's files outgrew their limit: ${words}`)
      : gone('platform', 'evicted', words);
  }
  if (reason === 'DeadlineExceeded') {
    return gone('platform', 'deleted', `the pod outlived what it was made for: ${words}`);
  }
  const disruption = disruptionOf(pod);
  if (disruption !== null) return disruption;
  if (reason !== undefined && hostReasons.has(reason)) return gone('platform', 'host-lost', words);
  if (reason !== undefined && evictedReasons.has(reason)) return gone('platform', 'evicted', words);
  const [service] = terminated === undefined ? endedContainers(pod) : [];
  if (service !== undefined && reason === undefined) return serviceGone(service.name, service.terminated);
  // The node took the pod and found no room for it (OutOfcpu, UnexpectedAdmissionError ...).
  if (terminated === undefined)
    return gone('platform', 'evicted', words === '' ? 'the pod ended unseen' : words);
  return containerEnd(terminated);
}

/** What only PID 1 itself can say of its end. Runtimes say OOMKilled also where memory took but a child, long before. */
function toldByPid1({ exitCode, message }: Terminated): Gone | null {
  if (exitCode !== supervisorFaultStatus) return endedByBounds(exitCode);
  const reason = `PID 1 of the sandbox ended for a fault of its own: ${wordsOf(message)}`;
  return gone('platform', 'exited', reason);
}

function containerEnd(terminated: Terminated): Gone {
  const { exitCode, reason, message } = terminated;
  const told = toldByPid1(terminated);
  if (told !== null) return told;
  // By its own limit: what a pod may use is what it has requested (docs/failures.md).
  if (reason === 'OOMKilled' && [killed, crashed].includes(exitCode)) {
    return gone('self', 'oom', 'the kernel ended PID 1 of the sandbox for the memory its processes took');
  }
  if (reason === 'ContainerStatusUnknown' || exitCode === 255) {
    return gone('platform', 'host-lost', `the pod's node was away: ${wordsOf(reason, message)}`);
  }
  // No signal from inside a sandbox ends its PID 1. What is not known to come from inside does not.
  const inside = exitCode === crashed;
  const how = `PID 1 of the sandbox ended with exit status ${exitCode}`;
  return gone(inside ? 'self' : 'platform', 'exited', inside ? how : `${how}: nothing inside ends it so`);
}

/** Being deleted: by whom its condition may say. */
function deletionOf(pod: ObservedPod): Gone {
  return disruptionOf(pod) ?? deletedState(pod.metadata.name);
}

function disruptionOf(pod: ObservedPod): Gone | null {
  const condition = conditionOf(pod, 'DisruptionTarget');
  if (condition?.status !== 'True') return null;
  const words = wordsOf(condition.reason, condition.message);
  return gone('platform', hostReasons.has(condition.reason ?? '') ? 'host-lost' : 'evicted', words);
}

/**
 * A pod without probes is not ready for two reasons alone: a service's container has ended, and then its containers are
 * not ready either; or its node has stopped to speak. Such a pod stays `Running` for minutes; null until that has lasted
 * for the time of grace.
 */
function silentState(pod: ObservedPod, { nodeGraceSec }: Expected, nowMs: number): Gone | null {
  const ready = conditionOf(pod, 'Ready');
  if (ready === null || ready.status === 'True' || mainStatus(pod)?.state.running === undefined) return null;
  // Kubelets set both conditions, the cluster's own controller the one.
  if (conditionOf(pod, 'ContainersReady')?.status === 'False') return null;
  const silentSec = (nowMs - Date.parse(ready.lastTransitionTime ?? '')) / 1_000;
  if (!(silentSec > nodeGraceSec)) return null;
  const node = pod.spec.nodeName;
  return gone('platform', 'host-lost', `node ${node} has been silent for ${Math.round(silentSec)} s`);
}

/** Those of its containers that have ended, with how. */
export function endedContainers(
  pod: ObservedPod,
): readonly { readonly name: string; readonly terminated: Terminated }[] {
  return pod.status.containerStatuses.flatMap(({ name, state: { terminated } }) =>
    terminated === undefined ? [] : [{ name, terminated }],
  );
}

/** The container whose PID 1 refused what it was started with: bad for every pod of its image. Null where none did. */
export function refusedStart(pod: ObservedPod): string | null {
  const refused = endedContainers(pod).find(
    ({ terminated }) => terminated.exitCode === supervisorConfigStatus,
  );
  return refused?.name ?? null;
}

/** What the runtime says where an image cannot be started, whichever node tries; null where that is not why it ended. */
export function runtimeRefusal(pod: ObservedPod): string | null {
  for (const { terminated } of endedContainers(pod)) {
    const { reason, message } = terminated;
    const refused = reason === 'StartError' || reason === 'ContainerCannotRun';
    if (refused && unstartable.test(message ?? '')) return wordsOf(reason, message);
  }
  return null;
}

function wordsOf(...parts: readonly (string | undefined)[]): string {
  const text = parts.filter((part) => part !== undefined && part !== '').join(': ');
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 500);
}
