// Names made safe: slugs, labels and the keys that they stand in.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { trialPrefix, verdictKey } from '../../domain/layout.ts';
import { sweepLabels } from '../../domain/sandbox-labels.ts';
import { slugOf } from '../../domain/slug.ts';

describe('slugOf', () => {
  it.each([
    ['passband/run-length', 'passband--run-length'],
    ['google/gemma-4-31B-it', 'google--gemma-4-31B-it'],
    ['a b', 'a_20_b'],
    ['…', 'x_2026_'],
    ['.hidden', 'x.hidden'],
  ])('%s is %s', (name, slug) => {
    expect(slugOf(name)).toBe(slug);
  });

  it('is safe for keys, labels and headers, whatever the name', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'binary' }), (name) => {
        expect(slugOf(name)).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]*$/);
      }),
    );
  });
});

describe('sweepLabels', () => {
  it('tell two sweeps apart, however long what their names share: removing the one leaves the other', () => {
    const long = 'a'.repeat(90);
    expect(sweepLabels('store', `${long}-1`)).not.toEqual(sweepLabels('store', `${long}-2`));
  });
});

describe('C76: the key of a verdict', () => {
  it('is a stable function of sweep, task, model, scaffold and attempt', () => {
    const trial = { sweep: 's', task: 't', model: 'm', scaffold: 'x', attempt: 3 };
    expect(verdictKey(trial)).toBe('v1/sweeps/s/trials/t/m/x/03/verdict.json');
    expect(trialPrefix({ ...trial, attempt: 12 })).toBe('v1/sweeps/s/trials/t/m/x/12/');
  });
});
