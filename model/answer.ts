// What one request to a model gives: everything that a reply record holds, with the prompt's ids whole.
import type { ReplyRecord } from '../domain/episode.ts';
import type { ToolCall } from '../domain/tools.ts';

/** A call as the server sent it: some give no id. */
export type RawToolCall = Omit<ToolCall, 'id'> & { readonly id: string | null };

/**
 * One complete answer. `kind: 'overflow'`: the server said that the prompt does not fit its context; `text` is then
 * the server's message, and there are no ids. Nothing partial is ever an answer.
 */
export interface RawAnswer {
  readonly kind: ReplyRecord['kind'];
  readonly text: string;
  /** reasoning_content, apart from the text; null where the server sent none. */
  readonly reasoning: string | null;
  /** Absent: the reply made none. The last one is not whole where the reply was cut by its length. */
  readonly toolCalls?: readonly RawToolCall[];
  readonly finishReason: ReplyRecord['finishReason'];
  /** Exact ids of the whole prompt; null where the server gave none. */
  readonly promptIds: number[] | null;
  /** Exact sampled ids; null where the server gave none, or not all of them. */
  readonly completionIds: number[] | null;
  /** How many of them, from the first, are thinking, at least; null where that is not known. */
  readonly reasoningIds: number | null;
  /** Natural logarithms, one for each sampled id; null where they do not line up with the ids. */
  readonly logprobs: number[] | null;
  readonly usage: ReplyRecord['usage'];
  /** Milliseconds count from the moment the request was made. */
  readonly times: Pick<ReplyRecord['times'], 'startedAt' | 'firstTokenMs' | 'lastTokenMs' | 'queuedMs'>;
}
