// What a grading stands on: images, mode, pristine facts and the oracle's assertions, from the gate or from its preparation.
import { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import { PristineFactsSchema, type PristineFacts } from '../domain/delta.ts';
import {
  ImageSchema,
  ServiceImagesSchema,
  type GateStep,
  type Image,
  type ServiceImages,
} from '../domain/gate.ts';
import { gatePrefix } from '../domain/layout.ts';
import { readJson } from '../store/objects.ts';
import { readSweepGate } from './gate/gate-records.ts';
import type { Grading } from './subject.ts';
import type { World } from './world.ts';

/** What the preparation of a task's gate leaves: its sides run on it, and the gate record repeats it. */
export const PreparedSchema = z.strictObject({
  format: z.literal('passband.prepared'),
  version: z.literal(1),
  image: ImageSchema,
  verifierImage: ImageSchema.nullable(),
  serviceImages: ServiceImagesSchema.optional(),
  pristine: PristineFactsSchema,
});
export type Prepared = z.infer<typeof PreparedSchema>;

export interface Ground {
  readonly image: Image;
  readonly verifierImage: Image | null;
  /** Absent where the task is one container. */
  readonly serviceImages?: ServiceImages | undefined;
  readonly environmentMode: 'shared' | 'separate';
  /** Of the image that verifies. */
  readonly pristine: PristineFacts;
  /** By step; null in the gate itself and where there is no oracle. */
  readonly oracle: readonly GateStep[] | null;
  readonly oracleVerified: boolean;
}

export const preparedKey = (gateKey: string, sweep: string): string =>
  `${gatePrefix(gateKey, sweep)}prepared.json`;

/** @throws ClassifiedError Unexpected where this sweep has not prepared the task's gate */
export async function readPrepared(
  world: World,
  { plan, task }: Pick<Grading, 'plan' | 'task'>,
): Promise<Prepared> {
  const prepared = await readJson(world.store, preparedKey(task.gateKey, plan.sweep), PreparedSchema);
  if (prepared === null) throw new ClassifiedError('Unexpected', `the gate of ${task.id} is not prepared`);
  return prepared;
}

export async function readGround(world: World, grading: Grading): Promise<Ground> {
  if (grading.actor.kind === 'gate') {
    return {
      ...(await readPrepared(world, grading)),
      environmentMode: grading.actor.environmentMode,
      oracle: null,
      oracleVerified: false,
    };
  }
  const record = await readSweepGate(world, grading);
  if (record === null || record.outcome === 'rejected' || record.image === null || record.pristine === null) {
    throw new ClassifiedError('Unexpected', `the gate of ${grading.task.id} has not kept it`);
  }
  return {
    image: record.image,
    verifierImage: record.verifierImage,
    serviceImages: record.serviceImages,
    environmentMode: record.environmentMode,
    pristine: record.pristine,
    oracle: record.outcome === 'kept' ? record.steps : null,
    oracleVerified: record.oracleVerified,
  };
}
