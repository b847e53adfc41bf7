// Activities that answer at once, as the workflows of a sweep see real ones: same names, same shapes, same sizes.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Activities } from '../../activities/types.ts';
import type { PlanShape } from '../../domain/order.ts';

const minuteMs = 60_000;

/** One-step trials that all pass. `heldMs`: how long each episode takes, in milliseconds. */
export function stubActivities(shape: PlanShape, concurrency: number, heldMs: number): Activities {
  return {
    readPlan: () => Promise.resolve({ shape, concurrency }),
    beginSweep: () => Promise.resolve(),
    finishSweep: () => Promise.resolve(),
    probe: () => Promise.resolve(),
    readDone: () => Promise.resolve({ runs: [], endings: {}, results: {} }),
    readTrial: () =>
      Promise.resolve({
        times: {
          setupMs: minuteMs,
          steps: [{ name: 'main', agentMs: 30 * minuteMs, verifierMs: 10 * minuteMs }],
        },
        done: null,
        generation: 1,
      }),
    readGate: () => Promise.resolve({ outcome: 'kept', reason: null }),
    prepareTask: () => Promise.resolve({ outcome: 'ready', environmentMode: 'separate' }),
    provision: () => Promise.resolve({ uid: '6f6b1f6e-7f43-4e0e-9d1e-0a1b2c3d4e5f', host: 'node-1' }),
    runEpisode: async () => {
      if (heldMs > 0) await sleep(heldMs);
      return { ending: 'completed', turns: 12 };
    },
    takeDelta: () => Promise.resolve({ ending: null, finalState: true }),
    verify: () => Promise.resolve({ result: 'passed', reward: 1, goOn: true }),
    recordVerdict: () =>
      Promise.resolve({
        counts: true,
        ending: 'completed',
        result: 'passed',
        failure: null,
        generations: 1,
      }),
    recordFailure: () => Promise.resolve({ interrupted: false }),
    cleanUp: () => Promise.resolve(),
    concludeGate: () => Promise.resolve({ outcome: 'kept', reason: null }),
  };
}
