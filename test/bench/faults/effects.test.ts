// Effects of faults, from made-up writes: how a trial went on, and what it waited beyond the usual.
import { describe, expect, it } from 'vitest';
import { effectsOf } from '../../../bench/faults/effects.ts';
import type { InjectedFault } from '../../../bench/faults/fault.ts';
import { trialWriteOf, WriteLog, type Write } from '../../../bench/faults/writes.ts';

const trial = (n: number): string => `s/task/model/terminus-2/0${n}`;
const keyOf = (n: number, rest: string): string => `v1/sweeps/s/trials/task/model/terminus-2/0${n}/${rest}`;
const write = (n: number, atMs: number, rest: string): Write => ({ atMs, key: keyOf(n, rest) });
const turn = (generation: number, call: number): string =>
  `g00${generation}/s00/turns/0000${call}-reply.json`;

/** A turn each second from 0 s to 20 s, then the verdict. */
const steady = (n: number): Write[] => [
  ...Array.from({ length: 21 }, (_, second) => write(n, second * 1_000, turn(1, second % 10))),
  write(n, 21_000, 'verdict.json'),
];
const fault = (fromMs: number, toMs: number, ...hits: string[]): InjectedFault => ({
  ...{ ordinal: 1, kind: 'kill', fromMs, toMs },
  hits,
});

describe('trialWriteOf', () => {
  it.each([
    ['verdict.json', { kind: 'verdict', generation: null }],
    ['failures/002.json', { kind: 'failure', generation: 2 }],
    ['g002/s00/provision.json', { kind: 'progress', generation: 2 }],
    [turn(3, 4), { kind: 'progress', generation: 3 }],
  ])('knows what a trial’s object means: %s', (rest, meant) => {
    expect(trialWriteOf(write(1, 5, rest))).toEqual({ atMs: 5, trial: trial(1), ...meant });
  });

  it('takes nothing else for a trial’s', () => {
    for (const key of ['v1/store.json', 'v1/sweeps/s/plan.json', 'v1/blobs/aa/aa']) {
      expect(trialWriteOf({ atMs: 1, key })).toBeNull();
    }
  });
});

describe('WriteLog', () => {
  it('holds a trial as in flight from its first object to its verdict, whatever comes late', () => {
    const log = new WriteLog();
    log.note(write(1, 1, 'g001/s00/provision.json'));
    log.note(write(2, 2, 'failures/001.json'));
    expect(log.inFlight).toEqual([trial(1), trial(2)]);
    log.note(write(1, 3, 'verdict.json'));
    log.note(write(1, 4, 'g001/s00/verify.json'));
    expect(log.inFlight).toEqual([trial(2)]);
    expect(log.verdicts).toBe(1);
    expect(log.lastMs).toBe(4);
  });
});

describe('effectsOf', () => {
  it('finds that a trial which lost nothing went on, in no more than the usual time', () => {
    const [effect] = effectsOf([fault(9_500, 9_600, trial(1))], [...steady(1), ...steady(2)]);
    expect(effect?.survived).toBe('going-on');
    expect(effect?.lostMs).toBeLessThan(100);
  });

  it('counts a longer silence from the fault on, less the usual wait', () => {
    const silent = steady(1).filter(({ atMs }) => atMs <= 4_000 || atMs >= 15_000);
    const [effect] = effectsOf([fault(4_500, 6_000, trial(1))], [...silent, ...steady(2)]);
    expect(effect?.survived).toBe('going-on');
    expect(effect?.lostMs).toBeGreaterThan(9_000);
    expect(effect?.lostMs).toBeLessThanOrEqual(10_500);
  });

  it.each([
    ['while the fault lasts', 9_000],
    ['a little later', 5_000],
  ])('counts a silence that begins %s', (_when, toMs) => {
    const silent = steady(1).filter(({ atMs }) => atMs <= 8_000 || atMs >= 18_000);
    const [effect] = effectsOf([fault(4_500, toMs, trial(1))], [...silent, ...steady(2)]);
    expect(effect?.lostMs).toBeGreaterThan(8_500);
  });

  it('counts none that begins long after it', () => {
    const silent = steady(1).filter(({ atMs }) => atMs <= 12_000 || atMs >= 18_000);
    const [effect] = effectsOf([fault(1_500, 2_000, trial(1))], [...silent, ...steady(2)]);
    expect(effect?.lostMs).toBeLessThan(500);
  });

  it('takes a failure record for no progress, and what follows for a new generation', () => {
    const lost = [
      write(1, 4_000, turn(1, 1)),
      // On its way when the pod was deleted.
      write(1, 5_100, turn(1, 2)),
      write(1, 9_000, 'failures/001.json'),
      write(1, 20_000, 'g002/s00/provision.json'),
      write(1, 21_000, 'verdict.json'),
    ];
    const [effect] = effectsOf([fault(5_000, 5_010, trial(1))], [...lost, ...steady(2)]);
    expect(effect?.survived).toBe('new-generation');
    expect(effect?.lostMs).toBeGreaterThan(13_000);
  });

  it('says so where a trial never went on', () => {
    const [effect] = effectsOf([fault(5_000, 5_010, trial(1))], [write(1, 4_000, turn(1, 1)), ...steady(2)]);
    expect(effect).toEqual({ kind: 'kill', survived: 'none', lostMs: null });
  });

  it('has an effect for each trial that a fault hit, and none for a fault that hit nobody', () => {
    const faults = [fault(1_000, 2_000, trial(1), trial(2)), fault(3_000, 4_000)];
    expect(effectsOf(faults, [...steady(1), ...steady(2)])).toHaveLength(2);
  });
});
