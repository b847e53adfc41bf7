// What can happen to any service behind a proxy, and how long it lasts: most for seconds, a few for a minute or two.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Chance } from './chance.ts';
import type { FaultKind, Injection } from './fault.ts';
import type { ScenePart } from './scene.ts';
import type { Treat } from './treatment.ts';

type Inject = FaultKind['inject'];

/** Milliseconds. */
export const shortly = (chance: Chance): number => chance.between(2_000, 9_000);

/** Milliseconds: of what is to be sat out. */
export const forAWhile = (chance: Chance): number =>
  chance.oneIn(10) ? chance.between(60_000, 120_000) : chance.between(3_000, 15_000);

const wait = async ({ scene, hits, signal }: Injection, ms: number): Promise<void> => {
  hits(scene.writes.inFlight);
  await sleep(ms, undefined, { signal });
};

/** Refuses connections, and cuts those that were open. */
export const goesAway =
  (part: ScenePart): Inject =>
  async (injection) => {
    const proxy = injection.scene.proxies[part];
    await proxy.away();
    try {
      await wait(injection, forAWhile(injection.chance));
    } finally {
      await proxy.back();
    }
  };

/** Answers late, each piece of each answer: by a time between two, in milliseconds. */
export const isSlow =
  (part: ScenePart, leastMs: number, mostMs: number): Inject =>
  async (injection) => {
    const proxy = injection.scene.proxies[part];
    proxy.lagMs = injection.chance.between(leastMs, mostMs);
    try {
      await wait(injection, forAWhile(injection.chance));
    } finally {
      proxy.lagMs = 0;
    }
  };

/** Treats requests, each anew. */
export const treats =
  (part: ScenePart, treatOf: (chance: Chance) => Treat, lengthOf = forAWhile): Inject =>
  async (injection) => {
    const { scene, chance } = injection;
    await scene.proxies[part].treating(treatOf(chance), () => wait(injection, lengthOf(chance)));
  };
