// The body of a request.
import { expect, it } from 'vitest';
import { samplingOf } from '../../model/request.ts';

it('moves a seed by the attempt, so that k attempts are not one attempt k times', () => {
  expect([1, 2, 3].map((attempt) => samplingOf({ seed: 5, temperature: 1 }, attempt))).toEqual([
    { seed: 5, temperature: 1 },
    { seed: 6, temperature: 1 },
    { seed: 7, temperature: 1 },
  ]);
});

it('sends no seed where none is named', () => {
  expect(samplingOf({ temperature: 1 }, 4)).toEqual({ temperature: 1 });
});
