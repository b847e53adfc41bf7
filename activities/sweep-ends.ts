// Both ends of a sweep: the survey that its network proofs stand on, and the removal of whatever its trials left.
import { sweepLabels } from '../domain/sandbox-labels.ts';
import type { Run, World } from './world.ts';

interface SweepInput {
  readonly sweep: string;
}

/** Fails before anything is spent where closed egress cannot be proved; names what can be proved in the log. */
export async function beginSweep(world: World, { sweep }: SweepInput, run: Run): Promise<void> {
  const { targets } = await world.surveys.begin(sweep, run.signal);
  const named = (provable: boolean): string[] =>
    targets.filter((target) => target.provable === provable).map(({ name }) => name);
  world.log.info({ sweep, provable: named(true), unprovable: named(false) }, 'egress surveyed');
}

/** Sandboxes that are still used are removed as well: the sweep is over. */
export async function finishSweep(world: World, { sweep }: SweepInput): Promise<void> {
  await world.driver.removeAll(sweepLabels(await world.storeId(), sweep));
}
