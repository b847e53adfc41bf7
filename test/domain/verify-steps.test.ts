// The verdict of several steps: nothing leaves the denominator.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StepVerdict, Verification } from '../../domain/verdict.ts';
import { foldSteps } from '../../domain/verify-steps.ts';

const verification = (fields: Partial<Verification>): Verification => {
  const reward = fields.reward ?? null;
  return {
    result: reward === 1 ? 'passed' : 'failed',
    detail: null,
    reward,
    rewards: reward === null ? {} : { reward },
    assertions: [],
    withheld: [],
    missing: [],
    warnings: [],
    verifierMs: 1,
    output: null,
    restoredOutput: null,
    ...fields,
  };
};
const step = (name: string, fields: Partial<Verification> | null): StepVerdict => ({
  name,
  reached: fields !== null,
  ending: fields === null ? null : 'completed',
  endingDetail: null,
  episode: null,
  delta: null,
  verification: fields === null ? null : verification(fields),
});

describe('mean', () => {
  it('passes where every step passed', () => {
    const folded = foldSteps([step('a', { reward: 1 }), step('b', { reward: 1 })], 'mean');
    expect(folded).toMatchObject({ result: 'passed', reward: 1 });
  });

  it('counts an unreached step as 0: a step cannot be skipped to success', () => {
    const folded = foldSteps([step('a', { reward: 1 }), step('b', null)], 'mean');
    expect(folded).toMatchObject({ result: 'failed', detail: 'step-unreached', reward: 0.5 });
  });

  it('counts a step without a reward as 0, and a key that a step lacks too', () => {
    const steps = [
      step('a', { reward: 1, rewards: { reward: 1, style: 0.5 } }),
      step('b', { reward: null, detail: 'no-reward' }),
    ];
    expect(foldSteps(steps, 'mean')).toMatchObject({
      detail: 'no-reward',
      reward: 0.5,
      rewards: { reward: 0.5, style: 0.25 },
    });
  });

  it('has no reward where no step has one', () => {
    expect(foldSteps([step('a', { reward: null }), step('b', null)], 'mean').reward).toBeNull();
  });

  it('is disputed where nothing failed and a step is disputed, also where it stopped the rest', () => {
    expect(foldSteps([step('a', { reward: 0, result: 'disputed' }), step('b', null)], 'mean').result).toBe(
      'disputed',
    );
    expect(
      foldSteps([step('a', { reward: 0, result: 'disputed' }), step('b', { reward: 0 })], 'mean').result,
    ).toBe('failed');
  });

  it('passes only with a reward of 1 in every planned step', () => {
    const anyStep = fc.option(fc.constantFrom(0, 0.5, 1));
    fc.assert(
      fc.property(fc.array(anyStep, { minLength: 1, maxLength: 6 }), (rewards) => {
        const folded = foldSteps(
          rewards.map((reward, at) => step(String(at), reward === null ? null : { reward })),
          'mean',
        );
        expect(folded.result === 'passed').toBe(rewards.every((reward) => reward === 1));
        expect(folded.reward ?? 0).toBeCloseTo(
          rewards.reduce<number>((sum, r) => sum + (r ?? 0), 0) / rewards.length,
        );
      }),
    );
  });
});

describe('final', () => {
  it("is the last planned step's own", () => {
    expect(foldSteps([step('a', { reward: 0 }), step('b', { reward: 1 })], 'final')).toMatchObject({
      result: 'passed',
      reward: 1,
    });
  });

  it('fails where the last planned step was not reached', () => {
    expect(foldSteps([step('a', { reward: 1 }), step('b', null)], 'final')).toMatchObject({
      result: 'failed',
      detail: 'step-unreached',
      reward: 0,
    });
  });
});

describe('what the steps have named', () => {
  const assertion = { name: 'works', status: 'passed', message: null } as const;
  it('carries the step where there are several, and nothing where there is one', () => {
    const one = step('a', { reward: 1, assertions: [assertion] });
    expect(foldSteps([one], 'mean').assertions).toEqual([assertion]);
    expect(foldSteps([one, step('b', { reward: 1 })], 'mean').assertions).toEqual([
      { ...assertion, name: 'a/works' },
    ]);
  });

  it('names a path that is withheld in several steps once', () => {
    const withheld = [{ path: '/usr/bin/cat', rule: 'replaced-program' as const }];
    const steps = [step('a', { withheld }), step('b', { withheld })];
    expect(foldSteps(steps, 'mean').withheld).toEqual(withheld);
  });
});
