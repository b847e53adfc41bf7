// Faults of pods and of the nodes that they are on.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Chance } from './chance.ts';
import type { FaultKind, Injection } from './fault.ts';
import type { TrialPod } from './trial-pods.ts';

const anew = 'a new generation in a fresh pod; the old one’s evidence is kept';
const podMs = { patience: 60_000, poll: 250 };

/** One that runs, of a trial as a rule, and now and then of a survey. Waits for one where there is none. */
async function somePod({ scene, chance, signal }: Injection): Promise<TrialPod> {
  const anyOne = chance.oneIn(10);
  const untilMs = performance.now() + podMs.patience;
  for (;;) {
    const pods = await scene.pods.running();
    const pod = chance.pick(anyOne ? pods : pods.filter(({ trial }) => trial !== null));
    if (pod !== undefined) return pod;
    if (performance.now() > untilMs) throw new Error('no pod of a trial runs');
    await sleep(podMs.poll, undefined, { signal });
  }
}

const trialsOf = (pods: readonly TrialPod[]): string[] => [
  ...new Set(pods.map(({ trial }) => trial).filter((trial) => trial !== null)),
];

/** Where a trial is at work; any node where none is. */
const nodeOf = (pods: readonly TrialPod[], chance: Chance): string =>
  (chance.pick(pods.filter(({ trial }) => trial !== null)) ?? { node: chance.oneIn(2) ? 'node1' : 'node2' })
    .node;

export const podFaults: readonly FaultKind[] = [
  {
    ...{ name: 'pod-delete', area: 'pod', weight: 5, cost: 1 },
    recovered: anew,
    inject: async (injection) => {
      const { scene, chance, hits } = injection;
      const pod = await somePod(injection);
      hits(trialsOf([pod]));
      await scene.pods.delete(pod.name, { byForce: chance.oneIn(2) });
    },
  },
  {
    ...{ name: 'pod-evict', area: 'pod', weight: 4, cost: 1 },
    recovered: anew,
    inject: async (injection) => {
      const { scene, hits } = injection;
      const pod = await somePod(injection);
      hits(trialsOf([pod]));
      await scene.pods.evict(pod.name);
    },
  },
  {
    ...{ name: 'node-kill', area: 'node', weight: 1, cost: 2 },
    recovered: 'a new generation on another node, or on this one when it is back',
    inject: async ({ scene, chance, hits, signal }) => {
      const pods = await scene.pods.running();
      const node = scene.cluster.node(nodeOf(pods, chance));
      hits(trialsOf(pods.filter((pod) => pod.node === node.name)));
      try {
        await node.kill();
        await sleep(chance.between(2_000, 40_000), undefined, { signal });
      } finally {
        await node.back();
      }
    },
  },
  {
    ...{ name: 'node-back', area: 'node', weight: 2, cost: 2 },
    recovered: 'the pod goes on where the node is back in time, else a new generation',
    inject: async ({ scene, chance, hits, signal }) => {
      const pods = await scene.pods.running();
      const node = scene.cluster.node(nodeOf(pods, chance));
      hits(trialsOf(pods.filter((pod) => pod.node === node.name)));
      try {
        await node.cut();
        const isLong = chance.oneIn(3);
        const ms = isLong ? chance.between(30_000, 60_000) : chance.between(2_000, 15_000);
        await sleep(ms, undefined, { signal });
      } finally {
        await node.join();
      }
    },
  },
];
