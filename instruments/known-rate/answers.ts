// Answers in OpenAI's shape with vLLM's additions: whole, or as the chunks of a stream.
import { createHash } from 'node:crypto';
import { bytesOf, decode, encode, endToken } from './tokens.ts';
import { reasoningPart } from './thinking.ts';
import { partOf, textOf, type Spoken, type WireCall } from './tool-calls.ts';

/** One reply, ready to be sent in either form. */
export interface Reply {
  readonly form: 'chat' | 'text';
  readonly model: string;
  /** Names this reply in ids: the same request gives the same. */
  readonly name: string;
  readonly promptIds: readonly number[];
  /** What is thought before it; empty: nothing. */
  readonly thought: string;
  /** What the ids after those of the thought say, whole. */
  readonly spoken: Spoken;
  /** The end token included where the reply was not cut. */
  readonly completionIds: readonly number[];
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
  readonly includeUsage: boolean;
  readonly returnTokenIds: boolean;
  readonly logprobs: boolean;
  readonly promptLogprobs: boolean;
}

/** The ids of a reply, cut where it is longer than `maxTokens`. */
export function completionOf(
  { thought, spoken }: Pick<Reply, 'thought' | 'spoken'>,
  maxTokens: number,
): Pick<Reply, 'thought' | 'spoken' | 'completionIds' | 'finishReason'> {
  const ids = [...encode(thought), ...encode(textOf(spoken)), endToken];
  return ids.length <= maxTokens
    ? { thought, spoken, completionIds: ids, finishReason: spoken.calls.length > 0 ? 'tool_calls' : 'stop' }
    : { thought, spoken, completionIds: ids.slice(0, maxTokens), finishReason: 'length' };
}

/** What a chat's parser makes of the characters from `from` to `to` of all that was sampled. */
function chatPart(
  { thought, spoken, name }: Reply,
  from: number,
  to: number,
): { readonly reasoning: string } & ReturnType<typeof partOf> {
  const skipped = thought.length;
  return {
    reasoning: reasoningPart(thought, from, to),
    ...partOf(spoken, { from: Math.max(0, from - skipped), to: Math.max(0, to - skipped), name }),
  };
}

/** Made up, but the same for the same token at the same place. */
const logprobOf = (id: number, at: number): number => -(((id * 31 + at * 17) % 997) / 1000);

function logprobsOf(ids: readonly number[], from: number, form: Reply['form']): object {
  const tokens = ids.map((id) => Buffer.from(bytesOf(id)).toString('utf8'));
  const values = ids.map((id, at) => logprobOf(id, from + at));
  if (form === 'text') {
    return { tokens, token_logprobs: values, text_offset: tokens.map(() => 0), top_logprobs: null };
  }
  return {
    content: ids.map((id, at) => ({
      token: tokens[at],
      logprob: values[at],
      bytes: [...bytesOf(id)],
      top_logprobs: [],
    })),
  };
}

/** As vLLM tells those of a prompt: by id, and nothing of the first. */
const promptLogprobsOf = (ids: readonly number[]): (object | null)[] =>
  ids.map((id, at) =>
    at === 0
      ? null
      : {
          [id]: {
            logprob: logprobOf(id, at),
            rank: 1,
            decoded_token: Buffer.from(bytesOf(id)).toString('utf8'),
          },
        },
  );

const usageOf = (reply: Reply): object => ({
  prompt_tokens: reply.promptIds.length,
  completion_tokens: reply.completionIds.length,
  total_tokens: reply.promptIds.length + reply.completionIds.length,
  prompt_tokens_details: null,
});

const head = (reply: Reply, chunk: boolean): object => ({
  id: `${reply.form === 'chat' ? 'chatcmpl' : 'cmpl'}-${createHash('sha256').update(reply.name).digest('hex').slice(0, 32)}`,
  object: reply.form === 'text' ? 'text_completion' : chunk ? 'chat.completion.chunk' : 'chat.completion',
  created: Math.floor(Date.now() / 1000),
  model: reply.model,
});

/** Where they were asked for: a chat's beside the choices, a plain completion's in its choice. */
const promptIdsOf = (reply: Reply): object =>
  reply.returnTokenIds ? { prompt_token_ids: reply.promptIds } : {};

/** The whole answer of a request that does not stream. */
export function wholeAnswer(reply: Reply): object {
  const text = decode(reply.completionIds);
  const { reasoning, content, calls } = chatPart(reply, 0, text.length);
  return {
    ...head(reply, false),
    choices: [
      {
        index: 0,
        ...(reply.form === 'chat'
          ? {
              message: {
                role: 'assistant',
                content: content === '' && calls.length > 0 ? null : content,
                ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
                tool_calls: calls.map(({ id, type, function: called }) => ({ id, type, function: called })),
              },
            }
          : { text }),
        logprobs: reply.logprobs ? logprobsOf(reply.completionIds, 0, reply.form) : null,
        finish_reason: reply.finishReason,
        stop_reason: null,
        ...(reply.returnTokenIds ? { token_ids: reply.completionIds } : {}),
        ...(reply.form === 'text' ? promptIdsOf(reply) : {}),
        ...(reply.promptLogprobs ? { prompt_logprobs: promptLogprobsOf(reply.promptIds) } : {}),
      },
    ],
    usage: usageOf(reply),
    ...(reply.form === 'chat' ? promptIdsOf(reply) : {}),
  };
}

const deltaOf = (reasoning: string, content: string, calls: readonly WireCall[]): object => ({
  ...(reasoning === '' ? { content } : { reasoning_content: reasoning }),
  ...(calls.length === 0 ? {} : { tool_calls: calls }),
});

/**
 * The chunks of a streamed answer, in order, `[DONE]` left to the sender: the prompt's ids in the first, the ids of
 * `chunkTokens` tokens in each that follows. Bytes that do not yet make a character wait for the next chunk.
 */
export function* chunksOf(reply: Reply, chunkTokens: number): Generator<object> {
  const chat = reply.form === 'chat';
  if (chat) {
    const choice = {
      index: 0,
      delta: { role: 'assistant', content: '' },
      logprobs: null,
      finish_reason: null,
    };
    yield { ...head(reply, true), choices: [choice], ...promptIdsOf(reply) };
  }
  const decoder = new TextDecoder();
  const ids = reply.completionIds;
  let said = 0;
  const thoughtIds = encode(reply.thought).length;
  let from = 0;
  while (from < ids.length) {
    // A parser lets the first word through with the id that says it.
    const to = Math.min(from + chunkTokens, ids.length, from < thoughtIds ? thoughtIds : Infinity);
    const part = ids.slice(from, to);
    const last = to === ids.length;
    const text = decoder.decode(Buffer.concat(part.map(bytesOf)), { stream: !last });
    const { reasoning, content, calls } = chatPart(reply, said, said + text.length);
    said += text.length;
    const choice = {
      index: 0,
      ...(chat ? { delta: deltaOf(reasoning, content, calls) } : { text }),
      logprobs: reply.logprobs ? logprobsOf(part, from, reply.form) : null,
      finish_reason: last ? reply.finishReason : null,
      ...(last ? { stop_reason: null } : {}),
      ...(chat || from > 0 ? {} : promptIdsOf(reply)),
      ...(reply.returnTokenIds ? { token_ids: part } : {}),
    };
    yield { ...head(reply, true), choices: [choice] };
    from = to;
  }
  if (reply.includeUsage) yield { ...head(reply, true), choices: [], usage: usageOf(reply) };
}
