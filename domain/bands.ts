// The band of a task for a model: decided in integers, so that no rounding moves a label.

export const bands = ['never', 'hard', 'central', 'easy', 'always', 'unmeasured'] as const;
export type Band = (typeof bands)[number];

/** The band of `passes` out of `counted` trials: central is 1/4 to 3/4, both included. */
export function bandOf(passes: number, counted: number): Band {
  if (!Number.isInteger(passes) || !Number.isInteger(counted) || passes < 0 || passes > counted) {
    throw new RangeError(`passes ${passes} of ${counted} is not a count`);
  }
  if (counted === 0) return 'unmeasured';
  if (passes === 0) return 'never';
  if (passes === counted) return 'always';
  if (4 * passes < counted) return 'hard';
  return 4 * passes <= 3 * counted ? 'central' : 'easy';
}
