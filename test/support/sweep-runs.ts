// A sweep in a test: started, asked how it stands, and followed to its end.
import type { Scene, TestTemporal } from './temporal-environment.ts';
import { planRef, type FakeWorld } from './fake-activities.ts';
import type { Activities } from '../../activities/types.ts';
import { progressQuery, type SweepInput } from '../../workflows/messages.ts';
import type { SweepProgress } from '../../workflows/reports.ts';
import { sweep } from '../../workflows/sweep.ts';

/** Every gate's record is there from an earlier sweep: for tests that are about something else than gates. */
export const readGate: Activities['readGate'] = () => Promise.resolve({ outcome: 'kept', reason: null });

export const inputOf = (name: string): SweepInput => ({
  sweep: name,
  plan: planRef,
  gatesOnly: false,
  carried: null,
});

export async function runSweep(
  temporal: TestTemporal,
  name: string,
  world: FakeWorld,
): Promise<SweepProgress> {
  return await temporal.play(world.activities, async (scene) => {
    const handle = await scene.start(sweep, `sweep-${name}`, [inputOf(name)]);
    return await handle.result();
  });
}

export async function progressOf(scene: Scene, name: string): Promise<SweepProgress | null> {
  return await scene.environment.client.workflow.getHandle(`sweep-${name}`).query(progressQuery);
}
