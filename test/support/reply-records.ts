// Turn records of an episode as a worker leaves them, from the ids of its prompts and completions.
import { PromptIdsChain } from '../../activities/episode/prompt-ids.ts';
import { ReplyRecordSchema, type ReplyRecord } from '../../domain/episode.ts';
import { replyKey } from '../../domain/layout.ts';
import type { ChatMessage } from '../../domain/ports.ts';
import { putJsonOnce } from '../../store/objects.ts';
import type { Store } from '../../store/port.ts';

export interface Said {
  readonly prompt: readonly number[];
  /** Null: the server gave none. */
  readonly completion: readonly number[] | null;
  readonly messages?: readonly ChatMessage[];
  readonly fields?: Partial<ReplyRecord>;
}

export function replyRecords(turns: readonly Said[]): ReplyRecord[] {
  const chain = new PromptIdsChain();
  return turns.map(({ prompt, completion, messages = [], fields = {} }, call) => {
    const record: ReplyRecord = {
      format: 'passband.reply',
      version: 2,
      call,
      kind: 'reply',
      requestDigest: 'x',
      text: '',
      reasoning: null,
      finishReason: 'stop',
      promptIds: chain.next(prompt, messages),
      completionIds: completion === null ? null : [...completion],
      reasoningIds: 0,
      logprobs: completion === null ? null : completion.map((_, at) => -at / 10),
      usage: { promptTokens: 1, completionTokens: 1, cachedTokens: null, estimated: false },
      times: { startedAt: '2026-01-01T00:00:00.000Z', firstTokenMs: 3, lastTokenMs: 9, earlierTries: 0 },
      ...fields,
    };
    chain.take(record, messages);
    return record;
  });
}

/** Writes them where the step's episode would. */
export async function putReplies(
  store: Store,
  generation: string,
  records: readonly ReplyRecord[],
): Promise<void> {
  for (const record of records)
    await putJsonOnce(store, replyKey(generation, 0, record.call), ReplyRecordSchema, record);
}
