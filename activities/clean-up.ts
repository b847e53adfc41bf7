// Clean-up: every sandbox of a generation removed by force, found by its label.
import { generationId, generationLabels, sandboxName } from './sandbox-names.ts';
import { resolveSubject } from './subject.ts';
import type { PhaseInput } from './types.ts';
import type { World } from './world.ts';

export async function cleanUp(world: World, { subject }: PhaseInput): Promise<void> {
  const grading = await resolveSubject(world, subject);
  const generation = generationId(await world.storeId(), grading);
  await world.sandboxes.gone(sandboxName(generation, ''));
  const left = await world.driver.list(generationLabels(generation));
  await Promise.all(left.map(({ name }) => world.sandboxes.destroy(name)));
}
