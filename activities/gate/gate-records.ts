// Gate records: the one that a sweep stands on, the one that other sweeps may take over, and refusals that may pass.
import { GateRecordSchema, type GateRecord } from '../../domain/gate.ts';
import { refusalKey, sharedGateKey, sweepGateKey } from '../../domain/layout.ts';
import type { RejectionReason } from '../../domain/failures.ts';
import type { Plan, PlannedTask } from '../../domain/sweep.ts';
import { ClassifiedError } from '../../domain/errors.ts';
import { putJson, putJsonOnce, readJson } from '../../store/objects.ts';
import type { GateSummary } from '../types.ts';
import type { World } from '../world.ts';
import type { TaskImages } from './images.ts';

/** A task of a sweep: whose gate it is. */
export interface Gated {
  readonly plan: Pick<Plan, 'sweep'>;
  readonly task: PlannedTask;
}

export type Conclusion = Pick<GateRecord, 'outcome' | 'reason' | 'message'> &
  Partial<Pick<GateRecord, 'environmentMode' | 'oracleVerified' | 'pristine' | 'steps' | keyof TaskImages>>;

/** What a sweep's trials of a task stand on, for good once it is there. Null where the gate is still to come. */
export async function readSweepGate(world: World, { plan, task }: Gated): Promise<GateRecord | null> {
  const key = sweepGateKey(plan.sweep, task.slug);
  try {
    return await world.gates.get(key, async () => {
      const record = await readJson(world.store, key, GateRecordSchema);
      if (record === null) throw new StillToCome();
      return record;
    });
  } catch (error) {
    if (error instanceof StillToCome) return null;
    throw error;
  }
}

/** What is not there yet is not kept in a cache. */
class StillToCome extends Error {}

/** What the gate's runs said of the task on exactly these images, in whichever sweep. */
export const readSharedGate = (
  world: World,
  task: PlannedTask,
  images: TaskImages,
): Promise<GateRecord | null> => readJson(world.store, sharedKeyOf(task, images), GateRecordSchema);

function sharedKeyOf(
  { gateKey }: PlannedTask,
  { image, verifierImage, serviceImages = {} }: TaskImages,
): string {
  // The task names its services in order, and the order of a record's keys is nobody's promise.
  const ofServices = Object.entries(serviceImages).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sharedGateKey(gateKey, [
    image.digest,
    ...(verifierImage === null ? [] : [verifierImage.digest]),
    ...ofServices.map(([, { digest }]) => digest),
  ]);
}

/** Writes the record that the sweep stands on, once; the one that stands already is the answer. */
export async function settle(world: World, gated: Gated, record: GateRecord): Promise<GateSummary> {
  const key = sweepGateKey(gated.plan.sweep, gated.task.slug);
  return summaryOf(await putRecordOnce(world, key, record));
}

/** Shares what the gate's runs said of these images, once, and settles the sweep on what stands there. */
export async function share(
  world: World,
  gated: Gated,
  conclusion: Conclusion & TaskImages,
): Promise<GateSummary> {
  const record = recordOf(world, gated.task, conclusion);
  return settle(world, gated, await putRecordOnce(world, sharedKeyOf(gated.task, conclusion), record));
}

/** Rejects a task in this sweep alone, and until the sweep is started again: what was lacking may be there then. */
export async function refuse(
  world: World,
  { plan, task }: Gated,
  refusal: { readonly reason: RejectionReason; readonly message: string },
): Promise<GateSummary> {
  const record = recordOf(world, task, { outcome: 'rejected', ...refusal });
  await putJson(world.store, refusalKey(plan.sweep, task.slug), GateRecordSchema, record);
  return summaryOf(record);
}

export function recordOf(world: Pick<World, 'now'>, task: PlannedTask, conclusion: Conclusion): GateRecord {
  return {
    format: 'passband.gate',
    version: 1,
    key: task.gateKey,
    task: task.id,
    environmentMode: task.task.environmentMode ?? 'separate',
    oracleVerified: false,
    image: null,
    verifierImage: null,
    pristine: null,
    steps: [],
    at: world.now().toISOString(),
    ...conclusion,
  };
}

export const summaryOf = ({ outcome, reason }: GateRecord): GateSummary => ({ outcome, reason });

async function putRecordOnce(world: World, key: string, record: GateRecord): Promise<GateRecord> {
  const { written, same } = await putJsonOnce(world.store, key, GateRecordSchema, record);
  if (written || same) return record;
  const stands = await readJson(world.store, key, GateRecordSchema);
  if (stands === null) throw new ClassifiedError('StoreUnavailable', `${key} is there and cannot be read`);
  return stands;
}
