// Pods as an API server tells them, for tests of what is made of its words.
import { ObservedPod } from '../../k8s/observed-pod.ts';

interface Told {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly state?: unknown;
  readonly conditions?: readonly unknown[];
  readonly deletionTimestamp?: string;
  readonly uid?: string;
  /** Of the containers beside its own, by name; null before a node has begun with one. */
  readonly beside?: Readonly<Record<string, unknown>>;
  readonly init?: Readonly<Record<string, unknown>>;
}

const statuses = (states: Readonly<Record<string, unknown>> = {}): readonly unknown[] =>
  Object.entries(states).flatMap(([name, state]) =>
    state === null ? [] : [{ name, containerID: `containerd://${name}`, state }],
  );

export const startedAt = '2026-01-01T00:00:10Z';
export const running = { running: { startedAt } };

/** A pod that runs, but for what is said of it. */
export function observed(told: Told = {}): ObservedPod {
  const { phase = 'Running', reason, message, state = running, conditions = [], deletionTimestamp } = told;
  return ObservedPod.parse({
    metadata: {
      name: 'pb-1-agent',
      uid: told.uid ?? 'uid-1',
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    spec: {
      nodeName: 'node1',
      containers: ['main', ...Object.keys(told.beside ?? {})].map((container) => ({
        name: container,
        image: 'registry/task@sha256:1',
      })),
    },
    status: {
      phase,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
      conditions,
      containerStatuses: [
        ...(state === null ? [] : [{ name: 'main', containerID: 'containerd://abc', state }]),
        ...statuses(told.beside),
      ],
      initContainerStatuses: statuses(told.init),
    },
  });
}
