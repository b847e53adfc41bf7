// Faults of what drives the sweep: its workers, and the Temporal server.
import type { FaultKind, Injection } from './fault.ts';
import { forAWhile } from './outages.ts';

const goesOn = 'another worker picks the trial up and goes on at the same turn, in the same pod';

/** Ends a worker that runs. Lasts until another one listens in its place. */
const ends =
  (how: 'SIGKILL' | 'SIGTERM') =>
  async ({ scene, chance, hits, signal }: Injection): Promise<void> => {
    const worker = chance.pick(await scene.workers.listening(signal));
    if (worker === undefined) throw new Error('no worker listens');
    hits(await scene.sweeps.trialsOn(worker.pid));
    await scene.workers.end(worker, how, { awayMs: chance.between(0, 8_000), signal });
  };

export const workerFaults: readonly FaultKind[] = [
  {
    ...{ name: 'worker-kill', area: 'worker', weight: 4, cost: 1 },
    recovered: goesOn,
    inject: ends('SIGKILL'),
  },
  {
    ...{ name: 'worker-drain', area: 'worker', weight: 4, cost: 1 },
    recovered: goesOn,
    inject: ends('SIGTERM'),
  },
  {
    ...{ name: 'temporal-restart', area: 'temporal', weight: 2, cost: 2 },
    recovered: 'everything goes on from the server’s database',
    inject: async ({ scene, chance, hits, signal }) => {
      await scene.temporal.end(chance.oneIn(2) ? 'SIGKILL' : 'SIGTERM');
      hits(scene.writes.inFlight);
      await scene.temporal.startAfter(forAWhile(chance), signal);
    },
  },
];
