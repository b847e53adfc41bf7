// The gate record that a sweep stands on: once it is there, nothing about the task is found out again.
import type { Ref } from '../../domain/refs.ts';
import { taskAt } from '../subject.ts';
import type { GateSummary } from '../types.ts';
import { readPlanOf, type World } from '../world.ts';
import { readSweepGate, summaryOf } from './gate-records.ts';

/**
 * What the sweep's record says; null where the task has none yet. An image that is gone or was made anew since does
 * not undo it: trials start from the digest that it names, or not at all (ImageMissing).
 */
export async function readGate(
  world: World,
  input: { readonly plan: Ref; readonly task: number },
): Promise<GateSummary | null> {
  const plan = await readPlanOf(world, input.plan);
  const record = await readSweepGate(world, { plan, task: taskAt(plan, input.task) });
  return record === null ? null : summaryOf(record);
}
