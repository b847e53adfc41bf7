// What a benchmark reports of many measurements.

/** The middle one, the upper of two; 0 of none. */
export const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
