// Names made safe: slugs, labels and the keys that they stand in.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { trialPrefix, verdictKey } from '../../domain/layout.ts';
import { sandboxLabel, slugOf } from '../../domain/slug.ts';

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

describe('sandboxLabel', () => {
  it('takes no more than a label does, and ends in a letter or digit', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200, unit: 'binary' }), (text) => {
        expect(sandboxLabel(text)).toMatch(/^([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$/);
      }),
    );
  });
});

describe('C76: the key of a verdict', () => {
  it('is a stable function of sweep, task, model, scaffold and attempt', () => {
    const trial = { sweep: 's', task: 't', model: 'm', scaffold: 'x', attempt: 3 };
    expect(verdictKey(trial)).toBe('v1/sweeps/s/trials/t/m/x/03/verdict.json');
    expect(trialPrefix({ ...trial, attempt: 12 })).toBe('v1/sweeps/s/trials/t/m/x/12/');
  });
});
