// What agents do to their own sandboxes: they pass its limits. A verdict with that ending is what is meant.
import type { FailingWay } from '../../instruments/known-rate/intent.ts';
import type { FaultKind, Injection } from './fault.ts';
import { patientTasks } from './tasks.ts';

const recovered = 'counted in its generation, with the ending that the agent’s own doing has';

/** The next trial to begin that means to fail does it so. Lasts until its verdict stands. */
const passesLimit =
  (way: FailingWay, tasks: readonly string[] | null) =>
  async ({ scene, hits, signal }: Injection): Promise<void> => {
    const trial = await scene.ways.next(way, tasks, signal);
    hits([trial]);
    await scene.sweeps.verdictOf(trial, signal);
  };

export const agentFaults: readonly FaultKind[] = [
  {
    ...{ name: 'oom', area: 'agent', weight: 2, cost: 1 },
    recovered,
    inject: passesLimit('eats-memory', null),
  },
  {
    ...{ name: 'disk', area: 'agent', weight: 1, cost: 1 },
    recovered,
    inject: passesLimit('fills-disk', patientTasks),
  },
];
