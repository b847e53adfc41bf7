// Episodes of trials that wait until the test lets them go, and end when they are cancelled.
import { Context } from '@temporalio/activity';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Activities } from '../../activities/types.ts';

export interface HeldEpisodes {
  readonly runEpisode: Activities['runEpisode'];
  /** Waits until so many are held. */
  untilHeld(count: number): Promise<void>;
  /** Lets all go that are held now. */
  release(): void;
  /** Lets all go from now on. */
  open(): void;
}

export function heldEpisodes(): HeldEpisodes {
  const held = new Set<() => void>();
  let open = false;
  const release = (): void => {
    for (const go of held) go();
    held.clear();
  };
  return {
    runEpisode: async ({ subject }) => {
      if (subject.kind === 'trial' && !open) {
        const context = Context.current();
        const beats = setInterval(() => context.heartbeat(), 100);
        const { promise, resolve } = Promise.withResolvers<undefined>();
        const go = (): void => resolve(undefined);
        held.add(go);
        await Promise.race([promise, context.cancelled]).finally(() => {
          clearInterval(beats);
          held.delete(go);
        });
      }
      return { ending: 'completed', turns: 1 };
    },
    untilHeld: async (count) => {
      while (held.size < count) await sleep(20);
    },
    release,
    open: () => {
      open = true;
      release();
    },
  };
}
