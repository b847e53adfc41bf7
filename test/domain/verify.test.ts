// Under which rules a reward of 1 stands.
import { describe, expect, it } from 'vitest';
import type { Assertion } from '../../domain/verdict.ts';
import { judge, meetsMinReward, passedNames, type VerifierRun } from '../../domain/verify.ts';

const run = (fields: Partial<VerifierRun> = {}): VerifierRun => ({
  end: 'exited',
  oomKills: 0,
  reward: 1,
  malformed: false,
  forged: false,
  assertions: [],
  ...fields,
});
const named = (name: string, status: Assertion['status'] = 'passed'): Assertion => ({
  name,
  status,
  message: null,
});

describe('judge', () => {
  it('passes a reward of 1', () => {
    expect(judge(run(), [])).toEqual({ result: 'passed', detail: null });
  });

  it.each([0, 0.5, 0.999])('fails a reward of %d and keeps it as it is', (reward) => {
    expect(judge(run({ reward }), [])).toEqual({ result: 'failed', detail: null });
  });

  it('C56: fails where no reward was left', () => {
    expect(judge(run({ reward: null }), [])).toEqual({ result: 'failed', detail: 'no-reward' });
  });

  it('C58: a test.sh whose reward says nothing is no pass, whatever else it left', () => {
    const malformed = run({ reward: null, malformed: true, assertions: [named('a')] });
    expect(judge(malformed, ['a'])).toEqual({ result: 'failed', detail: 'malformed-reward' });
  });

  it('C27: a verifier that was stopped in the middle fails, even with a reward of 1', () => {
    expect(judge(run({ end: 'timeout' }), [])).toEqual({ result: 'failed', detail: 'verifier-timeout' });
  });

  it('C40: no reward after kills for memory is verifier-oom, and so is the whole sandbox', () => {
    expect(judge(run({ reward: null, oomKills: 1 }), []).detail).toBe('verifier-oom');
    expect(judge(run({ reward: null, end: 'oom' }), []).detail).toBe('verifier-oom');
  });

  it('C40: a child killed for memory takes no reward away', () => {
    expect(judge(run({ oomKills: 3 }), []).result).toBe('passed');
  });

  it('C52: a reward that something beside the tests writes does not stand', () => {
    expect(judge(run({ forged: true }), []).result).toBe('failed');
  });

  it("asks for every assertion that the oracle's run named and passed", () => {
    const assertions = [named('a'), named('b', 'skipped'), named('extra', 'failed')];
    expect(judge(run({ assertions }), ['a'])).toEqual({ result: 'passed', detail: null });
    expect(judge(run({ assertions }), ['a', 'b'])).toEqual({ result: 'failed', detail: 'assertion-failed' });
    expect(judge(run({ assertions }), ['a', 'c'])).toEqual({ result: 'failed', detail: 'assertion-missing' });
  });
});

describe('passedNames', () => {
  it('leaves out a name that comes twice and passes once', () => {
    expect(passedNames([named('a'), named('b'), named('a', 'failed')])).toEqual(['b']);
  });
});

describe('meetsMinReward', () => {
  const half = { reward: 0.5, rewards: { reward: 0.5, style: 1 } };
  it.each([
    [null, true],
    [0.5, true],
    [0.51, false],
    [{ style: 1 }, true],
    [{ style: 1, reward: 0.6 }, false],
    [{ other: 0 }, false],
  ])('%j over a reward of 0.5: %s', (minReward, met) => {
    expect(meetsMinReward(minReward, half)).toBe(met);
  });

  it('a step without a reward meets no bound, not even 0', () => {
    expect(meetsMinReward(0, { reward: null, rewards: {} })).toBe(false);
  });
});
