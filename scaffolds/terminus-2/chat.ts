// The conversation of an episode: strict user and assistant turns, and the replies that were cut by their length.
import type { Answer, ChatMessage, EpisodeTools } from '../../domain/ports.ts';
import { lengthMessage } from './prompt.ts';
import type { Terminus2Options } from './options.ts';

export type Reply = Extract<Answer, { kind: 'reply' }>;

/** A reply that can be parsed, with the index of its model call; or why there is none. */
export type Asked =
  | { readonly kind: 'reply'; readonly reply: Reply; readonly call: number }
  | { readonly kind: 'out-of-context' | 'out-of-output'; readonly detail: string };

const longestDetail = 300;

export class Chat {
  readonly #messages: ChatMessage[] = [];
  readonly #options: Terminus2Options;
  readonly #tools: EpisodeTools;
  #calls = 0;

  constructor(options: Terminus2Options, tools: EpisodeTools) {
    this.#options = options;
    this.#tools = tools;
  }

  #add(message: ChatMessage): void {
    this.#messages.push(message);
    this.#tools.keepMessages([...this.#messages]);
  }

  #addReply({ text, reasoning }: Reply): void {
    const handBack = this.#options.interleaved_thinking && reasoning !== null;
    this.#add({ role: 'assistant', content: text, ...(handBack ? { reasoning } : {}) });
  }

  /**
   * Says `content` and gets a reply. One that was cut by its length stays in the conversation and is asked for anew,
   * smaller, as often in a row as the options allow.
   */
  async ask(content: string): Promise<Asked> {
    this.#add({ role: 'user', content });
    for (let cut = 0; ; cut += 1) {
      const answer = await this.#tools.model.ask([...this.#messages]);
      const call = this.#calls;
      this.#calls += 1;
      if (answer.kind === 'overflow') {
        return { kind: 'out-of-context', detail: answer.message.slice(0, longestDetail) };
      }
      this.#addReply(answer);
      if (answer.finishReason !== 'length') return { kind: 'reply', reply: answer, call };
      const allowed = this.#options.max_length_reasks;
      const given = allowed === null || cut < allowed;
      this.#tools.log({
        source: 'agent',
        message: answer.text,
        ...(answer.reasoning === null ? {} : { reasoning: answer.reasoning }),
        ...(given ? { observation: lengthMessage } : {}),
        call,
      });
      if (!given)
        return { kind: 'out-of-output', detail: `${cut + 1} replies in a row were cut by their length` };
      this.#add({ role: 'user', content: lengthMessage });
    }
  }
}
