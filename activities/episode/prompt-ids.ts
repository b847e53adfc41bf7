// Exact prompt ids kept small: of each turn the suffix since the last one, with a checksum of the prefix.
import type { ReplyRecord } from '../../domain/episode.ts';
import type { ChatMessage } from '../../domain/ports.ts';
import { idsChecksum } from '../../store/ids-checksum.ts';
import { breakCauseOf, type Sampled } from './break-cause.ts';

export type PromptIds = NonNullable<ReplyRecord['promptIds']>;

/** What of a record the chain goes on from. */
export type Turn = Pick<
  ReplyRecord,
  'promptIds' | 'completionIds' | 'reasoningIds' | 'finishReason' | 'toolCalls' | 'text'
>;

/** Follows the ids of an episode's turns: prompt, then completion, then the next prompt that should extend both. */
export class PromptIdsChain {
  #known: readonly number[] = [];
  #sampled: readonly Sampled[] = [];
  /** The chat that the known ids say, without its last reply; null before the first turn. */
  #said: { readonly messages: readonly ChatMessage[]; readonly reply: string } | null = null;

  get known(): readonly number[] {
    return this.#known;
  }

  /** The id that the last reply ended with; null where it was cut, or gave no ids. */
  get endedBy(): number | null {
    const last = this.#sampled.at(-1);
    return last?.stopped === true && last.end > last.start ? (this.#known.at(-1) ?? null) : null;
  }

  /** What a chat says after the known turns and their last reply; null where it does not begin with them. */
  added(messages: readonly ChatMessage[]): readonly ChatMessage[] | null {
    if (this.#said === null) return null;
    const { messages: before, reply } = this.#said;
    const answer = messages[before.length];
    if (answer?.role !== 'assistant' || answer.content !== reply) return null;
    if (!before.every((message, at) => isSame(message, messages[at]))) return null;
    return messages.slice(before.length + 1);
  }

  /** The record of a prompt after what is known; where it does not extend that, the index of the break and its cause. */
  next(prompt: readonly number[], messages: readonly ChatMessage[]): PromptIds {
    const known = this.#known;
    const differs = known.findIndex((id, at) => prompt[at] !== id);
    const broken = differs >= 0;
    const prefixLength = broken ? differs : known.length;
    return {
      suffix: prompt.slice(prefixLength),
      prefixLength,
      prefixSha256: idsChecksum(prompt.slice(0, prefixLength)),
      extends: !broken,
      breakIndex: broken ? differs : null,
      breakCause: broken
        ? breakCauseOf({
            known,
            prompt,
            at: differs,
            sampled: this.#sampled,
            historyExtends: this.added(messages) !== null,
          })
        : null,
    };
  }

  /** Takes a turn in, from its record and the chat that was asked: the next prompt is compared with it. */
  take(turn: Turn, messages: readonly ChatMessage[]): void {
    const { promptIds } = turn;
    if (promptIds === null) return;
    const { prefixLength, suffix } = promptIds;
    const completion = turn.completionIds ?? [];
    const start = prefixLength + suffix.length;
    this.#known = [...this.#known.slice(0, prefixLength), ...suffix, ...completion];
    this.#sampled = [
      ...this.#sampled.filter(({ end }) => end <= prefixLength),
      {
        start,
        end: start + completion.length,
        reasoningIds: turn.reasoningIds,
        calledTools: turn.toolCalls !== undefined,
        stopped: turn.finishReason === 'stop',
      },
    ];
    this.#said = { messages: [...messages], reply: turn.text };
  }
}

const isSame = (a: ChatMessage, b: ChatMessage | undefined): boolean =>
  a === b || JSON.stringify(a) === JSON.stringify(b);
