// The reply records of one step's episode as they were written, in whatever version.
import pMap from 'p-map';
import { ReplyRecordSchema, type ReplyRecord } from '../domain/episode.ts';
import { turnsPrefix } from '../domain/layout.ts';
import type { Step, Upgrades } from './formats.ts';
import { readJson } from './objects.ts';
import type { Store } from './port.ts';

const readsAtOnce = 16;

/** Version 1 told where a prompt breaks and not why, and nothing of where thinking ends. */
const tellsNoCause: Step = (older) => {
  const promptIds = older['promptIds'];
  const broken = typeof promptIds === 'object' && promptIds !== null;
  return {
    ...older,
    promptIds: broken ? { ...promptIds, breakCause: null } : null,
    reasoningIds: null,
  };
};

export const replyUpgrades: Upgrades = new Map([[1, tellsNoCause]]);

/** One reply record, null where the call was not made. */
export const readReply = (store: Store, key: string): Promise<ReplyRecord | null> =>
  readJson(store, key, ReplyRecordSchema, replyUpgrades);

/** Every reply record of a step, in the order of its calls. */
export async function readReplies(store: Store, generation: string, step: number): Promise<ReplyRecord[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(turnsPrefix(generation, step))) {
    if (key.endsWith('-reply.json')) keys.push(key);
  }
  const found = await pMap(keys, (key) => readReply(store, key), { concurrency: readsAtOnce });
  return found.filter((record) => record !== null);
}
