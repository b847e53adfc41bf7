// What the API server says of a pod, as far as we look at it.
import { z } from 'zod';

const time = z.string();

const Terminated = z.object({
  exitCode: z.number(),
  reason: z.string().optional(),
  message: z.string().optional(),
});

const ContainerStatus = z.object({
  name: z.string(),
  containerID: z.string().optional(),
  state: z
    .object({
      waiting: z.object({ reason: z.string().optional(), message: z.string().optional() }).optional(),
      running: z.object({ startedAt: time.nullish() }).optional(),
      terminated: Terminated.optional(),
    })
    .default({}),
});

const Condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
  lastTransitionTime: time.nullish(),
});

export const ObservedPod = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    resourceVersion: z.string().default(''),
    creationTimestamp: time.default(''),
    deletionTimestamp: time.optional(),
    labels: z.record(z.string(), z.string()).default({}),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.object({
    nodeName: z.string().default(''),
    containers: z.array(z.object({ name: z.string(), image: z.string().optional() })),
  }),
  status: z
    .object({
      phase: z.string().default('Pending'),
      reason: z.string().optional(),
      message: z.string().optional(),
      hostIP: z.string().default(''),
      podIP: z.string().default(''),
      conditions: z.array(Condition).default([]),
      containerStatuses: z.array(ContainerStatus).default([]),
      initContainerStatuses: z.array(ContainerStatus).default([]),
    })
    .prefault({}),
});
export type ObservedPod = z.infer<typeof ObservedPod>;
export type ContainerStatus = z.infer<typeof ContainerStatus>;

export const PodList = z.object({
  metadata: z.object({ continue: z.string().optional() }).default({}),
  items: z.array(ObservedPod),
});

/** The container that a sandbox is. */
export const mainContainer = 'main';

/** What is said of one of its containers; null before a node has begun with it. */
export function statusOf(pod: ObservedPod, container: string): ContainerStatus | null {
  return pod.status.containerStatuses.find(({ name }) => name === container) ?? null;
}

/** The same of the sandbox's own. */
export const mainStatus = (pod: ObservedPod): ContainerStatus | null => statusOf(pod, mainContainer);

export function conditionOf(pod: ObservedPod, type: string): z.infer<typeof Condition> | null {
  return pod.status.conditions.find((condition) => condition.type === type) ?? null;
}

/** The start of one container's PID 1, in words that change with it; null while it is not running. */
export function startOf(pod: ObservedPod, container = mainContainer): string | null {
  const status = statusOf(pod, container);
  const startedAt = status?.state.running?.startedAt;
  if (status?.containerID === undefined || typeof startedAt !== 'string') return null;
  return `${startedAt} ${status.containerID}`;
}

/**
 * The life of a sandbox and of all that is beside it, in words that change with it; null while its own container is not
 * running. One beside it that has ended is the one that it was.
 */
export function lifeOf(pod: ObservedPod): string | null {
  const started = startOf(pod);
  if (started === null) return null;
  const beside = pod.status.containerStatuses
    .filter(({ name }) => name !== mainContainer)
    .map(({ name, containerID = 'none' }) => `${name} ${containerID}`);
  return [started, ...beside.toSorted()].join(' ');
}
