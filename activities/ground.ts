// What a grading stands on: images, mode, pristine facts and the oracle's assertions, from the gate or from its preparation.
import { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import { PristineFactsSchema, type PristineFacts } from '../domain/delta.ts';
import { GateRecordSchema, ImageSchema, type GateRecord, type GateStep, type Image } from '../domain/gate.ts';
import { gateKeyOf, gatePrefix } from '../domain/layout.ts';
import { readJson } from '../store/objects.ts';
import type { Grading } from './subject.ts';
import type { World } from './world.ts';

/** What the preparation of a task's gate leaves: its sides run on it, and the gate record repeats it. */
export const PreparedSchema = z.strictObject({
  format: z.literal('passband.prepared'),
  version: z.literal(1),
  image: ImageSchema,
  verifierImage: ImageSchema.nullable(),
  pristine: PristineFactsSchema,
});
export type Prepared = z.infer<typeof PreparedSchema>;

export interface Ground {
  readonly image: Image;
  readonly verifierImage: Image | null;
  readonly environmentMode: 'shared' | 'separate';
  /** Of the image that verifies. */
  readonly pristine: PristineFacts;
  /** By step; null in the gate itself and where there is no oracle. */
  readonly oracle: readonly GateStep[] | null;
  readonly oracleVerified: boolean;
}

export const preparedKey = (gateKey: string, sweep: string): string =>
  `${gatePrefix(gateKey, sweep)}prepared.json`;

export const readGateRecord = (world: World, gateKey: string): Promise<GateRecord | null> =>
  readJson(world.store, gateKeyOf(gateKey), GateRecordSchema);

export async function readGround(world: World, grading: Grading): Promise<Ground> {
  const { gateKey } = grading.task;
  if (grading.actor.kind === 'gate') {
    const prepared = await readJson(world.store, preparedKey(gateKey, grading.plan.sweep), PreparedSchema);
    if (prepared === null)
      throw new ClassifiedError('Unexpected', `the gate of ${grading.task.id} is not prepared`);
    return {
      ...prepared,
      environmentMode: grading.actor.environmentMode,
      oracle: null,
      oracleVerified: false,
    };
  }
  const record = await readGateRecord(world, gateKey);
  if (record === null || record.image === null || record.pristine === null) {
    throw new ClassifiedError('Unexpected', `the gate of ${grading.task.id} has not kept it`);
  }
  return {
    image: record.image,
    verifierImage: record.verifierImage,
    environmentMode: record.environmentMode,
    pristine: record.pristine,
    oracle: record.outcome === 'kept' ? record.steps : null,
    oracleVerified: record.oracleVerified,
  };
}
