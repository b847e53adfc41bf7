// Reward files as verifiers leave them, and as hostile ones might.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseReward, type RewardReading } from '../../tasks/reward.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const json = (text: string, key: string | null = null): RewardReading =>
  parseReward({ json: bytes(text), txt: null }, key);
const txt = (text: string): RewardReading => parseReward({ json: null, txt: bytes(text) });

describe('reward.txt', () => {
  it.each([
    ['1', 1],
    ['0', 0],
    ['0.5\n', 0.5],
    [' 1.0 \r\n', 1],
    ['1e-1', 0.1],
    ['.25', 0.25],
    ['+1.', 1],
  ])('%j is %d', (text, reward) => {
    expect(txt(text)).toEqual({ kind: 'reward', reward, rewards: { reward }, warnings: [] });
  });

  it.each([
    '',
    ' \n',
    '1.0 # ok',
    'true',
    'nan',
    'inf',
    '-3',
    '7',
    '１',
    '0x1',
    '1_0',
    '1 1',
    '\uFEFF1',
    '1\0',
    '1e999',
  ])('%j is malformed', (text) => {
    expect(txt(text).kind).toBe('malformed');
  });
});

describe('reward.json', () => {
  it.each([
    ['{"reward": 1}', 1, { reward: 1 }],
    ['{"reward": 0.5, "speed": 12.5, "cost": -3}', 0.5, { reward: 0.5, speed: 12.5, cost: -3 }],
    ['{"score": 1}', 1, { score: 1 }],
  ])('%s is %d, other keys kept', (text, reward, rewards) => {
    expect(json(text)).toEqual({ kind: 'reward', reward, rewards, warnings: [] });
  });

  it.each([
    '',
    '  ',
    '{}',
    '1',
    'null',
    '[1]',
    '"1"',
    '{"reward": true}',
    '{"reward": "1"}',
    '{"reward": null}',
    '{"reward": {"x": 1}}',
    '{"reward": NaN}',
    '{"reward": 1e309}',
    '{"reward": 1, "note": "ok"}',
    '{"reward": 1, "other": 1e309}',
    '{"reward": 1.5}',
    '{"reward": -0.1}',
    '{"score": 2}',
    '{"reward": 1',
    '{"reward": 1}}',
    '\uFEFF{"reward": 1}',
  ])('%s is malformed', (text) => {
    expect(json(text).kind).toBe('malformed');
  });

  it('of several keys without a named one is ambiguous, until the key is said', () => {
    const text = '{"accuracy": 1, "speed": 30}';
    expect(json(text)).toEqual({
      kind: 'ambiguous-reward',
      keys: ['accuracy', 'speed'],
      rewards: { accuracy: 1, speed: 30 },
      warnings: [],
    });
    expect(json(text, 'accuracy')).toMatchObject({ kind: 'reward', reward: 1 });
    expect(json(text, 'speed').kind).toBe('malformed');
    expect(json(text, 'gone').kind).toBe('malformed');
  });

  it('has the asked key before `reward`, and `reward` where it lacks the asked one', () => {
    expect(json('{"reward": 0, "score": 1}', 'score')).toMatchObject({ reward: 1 });
    expect(json('{"reward": 0}', 'score')).toMatchObject({ reward: 0 });
    expect(json('{"time": 1}', 'score').kind).toBe('malformed');
  });

  it('is not fooled by a key of every object', () => {
    expect(json('{"a": 1, "b": 1}', 'constructor').kind).toBe('malformed');
    expect(json('{"constructor": 1}')).toMatchObject({ kind: 'reward', reward: 1 });
  });
});

describe('both files', () => {
  const both = (left: string, right: string): RewardReading =>
    parseReward({ json: bytes(left), txt: bytes(right) });

  it('are read from reward.json, with a warning where they disagree (C52)', () => {
    expect(both('{"reward": 0}', '1')).toMatchObject({
      kind: 'reward',
      reward: 0,
      warnings: ['reward.txt disagrees with reward.json, which is used'],
    });
    expect(both('{"reward": 1}', '1.0')).toMatchObject({ reward: 1, warnings: [] });
  });

  it('are malformed where reward.json is, whatever reward.txt says (C52)', () => {
    expect(both('{"reward": true}', '1')).toMatchObject({
      kind: 'malformed',
      warnings: [expect.any(String)],
    });
  });

  it('say that a reward.txt which is none was not used', () => {
    expect(both('{"reward": 1}', 'yes')).toMatchObject({
      reward: 1,
      warnings: [expect.stringContaining('not one number')],
    });
  });

  it('are none where neither is there: never a 0 (C56, C57)', () => {
    expect(parseReward({ json: null, txt: null })).toEqual({ kind: 'none', warnings: [] });
  });
});

describe('hostile bytes', () => {
  it('over 64 KiB are malformed, and so is what is no text', () => {
    expect(txt(`1${' '.repeat(64 * 1024)}`).kind).toBe('malformed');
    expect(txt(`1${' '.repeat(64 * 1024 - 1)}`)).toMatchObject({ reward: 1 });
    expect(json(`{"reward": 1}${' '.repeat(70_000)}`).kind).toBe('malformed');
    expect(parseReward({ json: new Uint8Array([0xff, 0xfe]), txt: null }).kind).toBe('malformed');
  });

  it('never throw, and a reward is always in [0, 1]', () => {
    const file = fc.option(
      fc.oneof(
        fc.uint8Array({ maxLength: 60 }),
        fc.json().map(bytes),
        fc.dictionary(fc.string(), fc.double()).map((value) => bytes(JSON.stringify(value))),
        fc.double().map((value) => bytes(String(value))),
      ),
    );
    fc.assert(
      fc.property(file, file, fc.option(fc.string()), (left, right, key) => {
        const reading = parseReward({ json: left, txt: right }, key);
        if (reading.kind === 'reward') {
          expect(reading.reward).toBeGreaterThanOrEqual(0);
          expect(reading.reward).toBeLessThanOrEqual(1);
        }
        if (reading.kind === 'none') expect([left, right]).toEqual([null, null]);
      }),
    );
  });
});
