// The reward that a verifier left: reward.json, else reward.txt, parsed strictly. See docs/failures.md.
import { z } from 'zod';

export interface RewardFiles {
  readonly json: Uint8Array | null;
  readonly txt: Uint8Array | null;
}

export type RewardReading = { readonly warnings: readonly string[] } & (
  | { readonly kind: 'reward'; readonly reward: number; readonly rewards: Readonly<Record<string, number>> }
  /** A file is there and is none of the forms. */
  | { readonly kind: 'malformed'; readonly reason: string }
  /** Several keys and none of them is the reward: the operator must say which (--reward-key). */
  | {
      readonly kind: 'ambiguous-reward';
      readonly keys: readonly string[];
      readonly rewards: Readonly<Record<string, number>>;
    }
  | { readonly kind: 'none' }
);

type Parsed = RewardReading extends infer Reading
  ? Reading extends unknown
    ? Omit<Reading, 'warnings'>
    : never
  : never;

const limitBytes = 64 * 1024;

/**
 * reward.json wins where both are there, and a disagreement is a warning. The key `rewardKey`, else `reward`, else
 * (where no key was asked for) the only key is the reward: a finite number in [0, 1]. Other keys are kept, any
 * finite number. Unknown bytes never throw.
 */
export function parseReward(files: RewardFiles, rewardKey: string | null = null): RewardReading {
  const txt = files.txt === null ? null : parseTxt(files.txt);
  if (files.json === null) return { ...(txt ?? { kind: 'none' }), warnings: [] };
  const json = parseJson(files.json, rewardKey);
  return { ...json, warnings: txt === null ? [] : disagreement(json, txt) };
}

function disagreement(json: Parsed, txt: Parsed): string[] {
  if (txt.kind === 'malformed') return [`reward.txt is not used: it ${txt.reason}`];
  if (json.kind === 'reward' && txt.kind === 'reward' && json.reward === txt.reward) return [];
  return ['reward.txt disagrees with reward.json, which is used'];
}

function parseTxt(bytes: Uint8Array): Parsed {
  const text = readText(bytes);
  if (text === null) return malformed(`is over ${limitBytes} bytes, or no UTF-8 text`);
  if (text.trim() === '') return malformed('is empty');
  if (!/^[ \t\r\n]*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[ \t\r\n]*$/.test(text)) {
    return malformed(`is not one number: ${JSON.stringify(text.slice(0, 40))}`);
  }
  const reward = Number(text.trim());
  return inRange(reward)
    ? { kind: 'reward', reward, rewards: { reward } }
    : malformed(outOfRange('reward', reward));
}

function parseJson(bytes: Uint8Array, rewardKey: string | null): Parsed {
  const text = readText(bytes);
  if (text === null) return malformed(`is over ${limitBytes} bytes, or no UTF-8 text`);
  if (text.trim() === '') return malformed('is empty');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the file; what matters is that it is none.
    return malformed('is not JSON');
  }
  const object = z.record(z.string(), z.unknown()).safeParse(value);
  if (!object.success || Array.isArray(value)) return malformed('is no object of numbers');
  const rewards: [string, number][] = [];
  for (const [key, number] of Object.entries(object.data)) {
    if (typeof number !== 'number' || !Number.isFinite(number)) {
      return malformed(`has ${JSON.stringify(key.slice(0, 60))}, which is no finite number`);
    }
    rewards.push([key, number]);
  }
  return chooseReward(Object.fromEntries(rewards), rewardKey);
}

function chooseReward(rewards: Readonly<Record<string, number>>, rewardKey: string | null): Parsed {
  const keys = Object.keys(rewards);
  const has = (key: string | null): key is string => key !== null && Object.hasOwn(rewards, key);
  if (keys.length === 0) return malformed('has no key');
  const only = keys.length === 1 && rewardKey === null ? (keys[0] ?? null) : null;
  const key = [rewardKey, 'reward', only].find(has);
  if (key === undefined && rewardKey === null) return { kind: 'ambiguous-reward', keys, rewards };
  const reward = key === undefined ? undefined : rewards[key];
  if (key === undefined || reward === undefined) return malformed(`has no key ${JSON.stringify(rewardKey)}`);
  return inRange(reward) ? { kind: 'reward', reward, rewards } : malformed(outOfRange(key, reward));
}

// A byte order mark is kept, so that it is no number and no JSON: as the format's own reader has it.
function readText(bytes: Uint8Array): string | null {
  if (bytes.length > limitBytes) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

const inRange = (reward: number): boolean => reward >= 0 && reward <= 1;
const outOfRange = (key: string, reward: number): string => `has ${key} = ${reward}, outside [0, 1]`;
const malformed = (reason: string): Parsed => ({ kind: 'malformed', reason });
