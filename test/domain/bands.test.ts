// Bands: decided in integers, at their very edges.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bandOf } from '../../domain/bands.ts';

describe('bandOf', () => {
  it.each([
    [0, 0, 'unmeasured'],
    [0, 8, 'never'],
    [1, 8, 'hard'],
    [2, 8, 'central'],
    [6, 8, 'central'],
    [7, 8, 'easy'],
    [8, 8, 'always'],
    [1, 1, 'always'],
    [1, 4, 'central'],
    [3, 4, 'central'],
    [24, 97, 'hard'],
    [25, 100, 'central'],
  ] as const)('%d of %d is %s', (passes, counted, band) => {
    expect(bandOf(passes, counted)).toBe(band);
  });

  it('puts both quarters into central, whatever the count', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), (quarter) => {
        expect(bandOf(quarter, 4 * quarter)).toBe('central');
        expect(bandOf(3 * quarter, 4 * quarter)).toBe('central');
      }),
    );
  });

  it.each([
    [-1, 8],
    [9, 8],
    [0.5, 8],
    [0, 1.5],
  ])('refuses %d of %d', (passes, counted) => {
    expect(() => bandOf(passes, counted)).toThrow(RangeError);
  });
});
