// The gate record as a sweep may use it: cached under the task's key for all sweeps.
import type { GateRecord } from '../../domain/gate.ts';
import type { Plan } from '../../domain/sweep.ts';
import type { Ref } from '../../domain/refs.ts';
import { readGateRecord } from '../ground.ts';
import { taskAt } from '../subject.ts';
import type { GateSummary } from '../types.ts';
import { readPlanOf, type World } from '../world.ts';

/**
 * The rejection that stands. Null where there is none, or where it has to be looked at again: a record that keeps its
 * task is only as good as its images are there, and that is found out with the images (prepareTask).
 */
export async function readGate(
  world: World,
  input: { readonly plan: Ref; readonly task: number },
): Promise<GateSummary | null> {
  const plan = await readPlanOf(world, input.plan);
  const record = await readGateRecord(world, taskAt(plan, input.task).gateKey);
  if (record?.outcome !== 'rejected' || isOverruled(record, plan)) return null;
  return { outcome: record.outcome, reason: record.reason };
}

/**
 * Whether a task without a solution runs is the sweep's to say. What a driver lacks, and a build that failed, may
 * have been mended outside the task.
 */
export function isOverruled({ outcome, reason }: GateRecord, plan: Plan): boolean {
  if (reason === 'no-oracle') return (outcome === 'unaudited') !== plan.unaudited;
  return reason === 'build-fails' || reason === 'unsupported';
}
