// A reply to a prompt that is given by its ids: a plain completion, in whose text nothing has been parsed.
import { ClassifiedError } from '../domain/errors.ts';
import type { Sampling, TokensIn } from '../domain/sweep.ts';
import type { RawAnswer } from './answer.ts';
import { describe, type Asked } from './refusals.ts';
import { samplingBeyondTemplate } from './request.ts';

export interface PromptInIds extends TokensIn {
  readonly ids: readonly number[];
  /** Tokens of the model's context: what the prompt leaves of it is what a reply may have at most. */
  readonly contextTokens: number;
}

/**
 * The body of `POST completions`, as JSON text. A plain completion that names no `max_tokens` is cut at 16, a chat at the
 * end of the context. Special tokens are left out of the text, as in a chat; where thinking stands between two of them
 * they have to be in it.
 */
export function completionBody(
  servedName: string,
  { ids, contextTokens, thinkTags }: PromptInIds,
  sampling: Sampling,
): string {
  return JSON.stringify({
    model: servedName,
    prompt: ids,
    max_tokens: Math.max(1, contextTokens - ids.length),
    ...samplingBeyondTemplate(sampling),
    add_special_tokens: false,
    skip_special_tokens: thinkTags === null,
    stream: true,
    stream_options: { include_usage: true },
    logprobs: 0,
    return_token_ids: true,
  });
}

/**
 * The answer with its thinking apart, and with the prompt's ids as they were sent where the server does not repeat them.
 * @throws ClassifiedError ConfigInvalid where the reply came without its ids: the next prompt could not extend it
 */
export function answerInIds(answer: RawAnswer, { ids, thinkTags }: PromptInIds, asked: Asked): RawAnswer {
  if (answer.completionIds === null) {
    const what =
      'its reply came without token ids: tokens_in needs a server that gives them (vLLM, return_token_ids)';
    throw new ClassifiedError('ConfigInvalid', describe(asked, what));
  }
  const promptIds = answer.promptIds ?? [...ids];
  return { ...answer, promptIds, ...(thinkTags === null ? {} : splitThinking(answer, thinkTags)) };
}

/**
 * What stands before the closing tag is thinking, whether the reply opened it or the template did. A reply that opened it
 * and never closed it is all thinking; one that was cut before any closing tag as well: who opened it is not known, and a
 * thought must not be taken for an answer.
 */
export function splitThinking(
  { text, finishReason }: Pick<RawAnswer, 'text' | 'finishReason'>,
  [open, close]: readonly [string, string],
): { readonly text: string; readonly reasoning: string | null } {
  const opened = text.trimStart().startsWith(open);
  const inside = opened ? text.slice(text.indexOf(open) + open.length) : text;
  const at = inside.indexOf(close);
  if (at !== -1) return { reasoning: inside.slice(0, at), text: inside.slice(at + close.length) };
  return opened || finishReason === 'length' ? { reasoning: inside, text: '' } : { reasoning: null, text };
}
