// Set-up: the agent's sandbox made and its network barrier passed. One activity; each phase fails under its own name.
import { passBarrier } from './barrier.ts';
import { provision } from './provision.ts';
import type { PhaseInput, ProvisionOutcome } from './types.ts';
import type { Run, World } from './world.ts';

export async function setUp(world: World, input: PhaseInput, run: Run): Promise<ProvisionOutcome> {
  const outcome = await provision(world, input, run);
  run.enter('passBarrier');
  await passBarrier(world, input, run);
  return outcome;
}
