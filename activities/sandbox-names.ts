// Names and labels of a generation's sandboxes: derived, so that whoever asks again finds the same ones.
import { createHash } from 'node:crypto';
import { sweepLabels, workflowLabel } from '../domain/sandbox-labels.ts';
import type { Grading } from './subject.ts';

/** 12 hex digits of the generation's identity; `storeId` keeps two stores on one engine apart. */
export function generationId(
  storeId: string,
  grading: Pick<Grading, 'plan' | 'name' | 'generation'>,
): string {
  const identity = `${storeId}/${grading.plan.sweep}/${grading.name}/${grading.generation}`;
  return createHash('sha256').update(identity).digest('hex').slice(0, 12);
}

/** `pb-<generation>-<phase>`: at most 63 characters of [a-z0-9-]. */
export const sandboxName = (generation: string, phase: string): string => `pb-${generation}-${phase}`;

/** What finds all sandboxes of one generation again. */
export const generationLabels = (generation: string): Readonly<Record<string, string>> => ({
  'passband.generation': generation,
});

export interface LabelsOf {
  readonly storeId: string;
  readonly grading: Pick<Grading, 'plan' | 'task' | 'name' | 'generation'>;
  readonly phase: string;
  readonly workflow: string;
}

/** What finds the sandboxes of a generation, of a sweep, of a store; and what a person reads on one. */
export function sandboxLabels({
  storeId,
  grading,
  phase,
  workflow,
}: LabelsOf): Readonly<Record<string, string>> {
  return {
    ...generationLabels(generationId(storeId, grading)),
    ...sweepLabels(storeId, grading.plan.sweep),
    [workflowLabel]: workflow,
    'passband.task': grading.task.slug,
    'passband.phase': phase,
    'passband.trial': `${grading.name}.g${grading.generation}`,
  };
}
