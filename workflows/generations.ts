// When a trial is begun anew: by the failure table, a number of generations, and waits that grow.
import { fullJitterMs, generationBackoff, unitOf } from '../domain/backoff.ts';
import { failureTable, type FailureClass } from '../domain/failures.ts';

/** Generations of one trial within one run of its sweep. */
export const maxGenerations = 5;

/**
 * The wait before the next generation, in milliseconds; null where there is none.
 * `tries` counts the generations that this sweep has begun, `name` the trial or gate: its jitter derives from both.
 */
export function waitBeforeNextMs(failureClass: FailureClass, tries: number, name: string): number | null {
  if (failureTable[failureClass].retry !== 'generation' || tries >= maxGenerations) return null;
  return fullJitterMs(generationBackoff, tries, unitOf(`${name}/${tries}`));
}
