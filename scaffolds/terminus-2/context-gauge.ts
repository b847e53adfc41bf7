// How full the context is: an estimate from the server's own count of the last prompt and the bytes of both.
import { Buffer } from 'node:buffer';
import type { ChatMessage, Model } from '../../domain/ports.ts';
import type { Terminus2Options } from './options.ts';

/** Where no server and no message tells the limit, as in the reference. */
const assumedLimitTokens = 1_000_000;
/** Before any prompt was counted: four bytes of English are about one token. */
const assumedTokensPerByte = 1 / 4;
/** Of a message's marks in the template. */
const messageBytes = 16;
/** Tokens that a chat is cut down to have free, so that it can be summarised. */
const roomForSummary = 4_000;

const bytesOf = (messages: readonly ChatMessage[]): number =>
  messages.reduce(
    (sum, { content, reasoning }) =>
      sum + messageBytes + Buffer.byteLength(content) + Buffer.byteLength(reasoning ?? ''),
    0,
  );

type Margins = Pick<Terminus2Options, 'context_margins' | 'proactive_summarization_threshold'>;

export class ContextGauge {
  readonly #margins: Margins;
  readonly #model: Model;
  #tokensPerByte = assumedTokensPerByte;
  #told: number | null = null;

  constructor(margins: Margins, model: Model) {
    this.#margins = margins;
    this.#model = model;
  }

  /** The server's count of a prompt: what follows is estimated by it. */
  measure(messages: readonly ChatMessage[], promptTokens: number): void {
    if (promptTokens > 0) this.#tokensPerByte = promptTokens / bytesOf(messages);
  }

  /** A prompt that did not fit: it is at least as long as the limit, and its message may tell that. */
  async overflow(messages: readonly ChatMessage[], told: number | undefined): Promise<void> {
    this.#told = told ?? this.#told;
    const limit = await this.limit();
    if (limit < assumedLimitTokens) {
      this.#tokensPerByte = Math.max(this.#tokensPerByte, limit / bytesOf(messages));
    }
  }

  /** Tokens that a prompt may have. */
  async limit(): Promise<number> {
    const asked = (await this.#model.promptTokensLimit?.()) ?? null;
    return Math.min(asked ?? this.#told ?? assumedLimitTokens, this.#told ?? Number.POSITIVE_INFINITY);
  }

  /** Tokens of a chat as a prompt: an estimate. */
  estimate(messages: readonly ChatMessage[]): number {
    return Math.ceil(bytesOf(messages) * this.#tokensPerByte);
  }

  /** With fewer tokens free than this, a chat is compacted before its next turn. */
  threshold(limit: number): number {
    const { proactive_summarization_threshold: asked, context_margins: kind } = this.#margins;
    return kind === 'scaled' ? Math.min(asked, Math.floor(limit / 4)) : asked;
  }

  /** Tokens that have to be free for the questions of a compaction. */
  room(limit: number): number {
    return this.#margins.context_margins === 'scaled'
      ? Math.min(roomForSummary, Math.floor(limit / 8))
      : roomForSummary;
  }
}
