// The conversation of an episode: turns of user and assistant, the replies that were cut, and what is asked beside it.
import type { Answer, ChatMessage, EpisodeTools } from '../../domain/ports.ts';
import type { ContextGauge } from './context-gauge.ts';
import type { Terminus2Options } from './options.ts';
import { lengthMessage } from './prompt.ts';
import type { Protocol } from './protocol.ts';

export type Reply = Extract<Answer, { kind: 'reply' }>;
export type Overflow = Extract<Answer, { kind: 'overflow' }>;

/** A reply that can be parsed, with the index of its model call; or why there is none. */
export type Asked =
  | { readonly kind: 'reply'; readonly reply: Reply; readonly call: number }
  | Overflow
  | { readonly kind: 'out-of-output'; readonly detail: string };

export class Chat {
  #messages: ChatMessage[] = [];
  readonly #options: Terminus2Options;
  readonly #protocol: Protocol;
  readonly #gauge: ContextGauge;
  readonly #tools: EpisodeTools;
  #first: ChatMessage | null = null;
  #calls = 0;

  constructor(options: Terminus2Options, protocol: Protocol, gauge: ContextGauge, tools: EpisodeTools) {
    this.#options = options;
    this.#protocol = protocol;
    this.#gauge = gauge;
    this.#tools = tools;
  }

  /** Message 1, as it was said: the role, the form of a reply and the task. */
  get first(): ChatMessage | null {
    return this.#first;
  }

  get messages(): readonly ChatMessage[] {
    return [...this.#messages];
  }

  /** What a model said, without its thinking where that is set aside. */
  plain(text: string): string {
    return this.#protocol.plain(text);
  }

  /** What the conversation is from now on. */
  replace(messages: readonly ChatMessage[]): void {
    this.#messages = [...messages];
    this.#tools.keepMessages([...messages]);
  }

  #add(message: ChatMessage): void {
    this.replace([...this.#messages, message]);
  }

  #addReply({ text, reasoning }: Reply): void {
    const handBack = this.#options.interleaved_thinking && reasoning !== null;
    this.#add({ role: 'assistant', content: text, ...(handBack ? { reasoning } : {}) });
  }

  /** Asks the model with any messages, beside the conversation. */
  async askBeside(
    messages: readonly ChatMessage[],
  ): Promise<{ readonly answer: Answer; readonly call: number }> {
    const answer = await this.#tools.model.ask([...messages]);
    const call = this.#calls;
    this.#calls += 1;
    if (answer.kind === 'reply') this.#gauge.measure(messages, answer.promptTokens);
    else await this.#gauge.overflow(messages, answer.promptTokensLimit);
    return { answer, call };
  }

  /**
   * Says `content` and gets a reply. One that was cut by its length stays in the conversation and is asked for anew,
   * smaller, as often in a row as the options allow. What did not fit the context is taken out again.
   */
  async ask(content: string): Promise<Asked> {
    const reask = lengthMessage(this.#protocol.form);
    if (this.#messages.length === 0) this.#first = { role: 'user', content };
    this.#add({ role: 'user', content });
    for (let cut = 0; ; cut += 1) {
      const { answer, call } = await this.askBeside(this.#messages);
      if (answer.kind === 'overflow') {
        this.replace(this.#messages.slice(0, -1));
        return answer;
      }
      this.#addReply(answer);
      if (answer.finishReason !== 'length' || this.#protocol.takesCut(answer.text)) {
        return { kind: 'reply', reply: answer, call };
      }
      const allowed = this.#options.max_length_reasks;
      const given = allowed === null || cut < allowed;
      this.#tools.log({
        source: 'agent',
        message: answer.text,
        ...(answer.reasoning === null ? {} : { reasoning: answer.reasoning }),
        ...(given ? { observation: reask } : {}),
        call,
      });
      if (!given)
        return { kind: 'out-of-output', detail: `${cut + 1} replies in a row were cut by their length` };
      this.#add({ role: 'user', content: reask });
    }
  }
}
