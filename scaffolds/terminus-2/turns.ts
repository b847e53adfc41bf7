// One turn's question at any length of the chat: compacted before it where little is free, and after an overflow.
import type { CompactionPart, EpisodeEnd, EpisodeTools } from '../../domain/ports.ts';
import type { Chat, Overflow, Reply } from './chat.ts';
import { cannedReply } from './compaction-words.ts';
import { fallBack, summarise, type Continuation, type Handover } from './compaction.ts';
import type { ContextGauge } from './context-gauge.ts';
import { labelledScreen, limitOutput } from './observation.ts';
import type { Terminus2Options } from './options.ts';
import { firstMessage } from './prompt.ts';
import type { ReplyForm } from './reply-form.ts';

/** A reply, whether the model's or one that stands for it; or how the episode ends. */
export type Turn =
  | { readonly kind: 'reply'; readonly reply: Reply; readonly call: number }
  | { readonly kind: 'canned'; readonly text: string }
  | { readonly kind: 'end'; readonly end: EpisodeEnd };

export const terminalLost: EpisodeEnd = { ending: 'terminal-lost', detail: 'the terminal session has ended' };

/**
 * Turns in a row that overflow though the chat was compacted. A refused prompt takes none of the agent's time, so its
 * clock would end none of them.
 */
const mostOverflowingTurns = 3;
const longestDetail = 300;

export interface TurnsOptions {
  readonly options: Terminus2Options;
  readonly form: ReplyForm;
  readonly instruction: string;
  readonly chat: Chat;
  readonly gauge: ContextGauge;
  readonly tools: EpisodeTools;
}

const outOfContext = ({ message }: Overflow): Turn => ({
  kind: 'end',
  end: { ending: 'out-of-context', detail: message.slice(0, longestDetail) },
});

export class Turns {
  readonly #given: TurnsOptions;
  #compactions = 0;
  #overflowing = 0;

  constructor(given: TurnsOptions) {
    this.#given = given;
  }

  async ask(say: string): Promise<Turn> {
    const { options, chat, gauge } = this.#given;
    let next = say;
    if (options.enable_summarize && chat.messages.length > 0) {
      const limit = await gauge.limit();
      if (limit - gauge.estimate(chat.messages) < gauge.threshold(limit)) {
        const handover = await this.#compact('threshold', limit);
        if (handover === null) return { kind: 'end', end: terminalLost };
        next = handover.outcome === 'none' ? say : handover.say;
      }
    }
    const asked = await chat.ask(next);
    return asked.kind === 'overflow' ? this.#afterOverflow(asked) : this.#turnOf(asked);
  }

  #turnOf(asked: Exclude<Awaited<ReturnType<Chat['ask']>>, Overflow>): Turn {
    this.#overflowing = 0;
    if (asked.kind === 'reply') return asked;
    return { kind: 'end', end: { ending: asked.kind, detail: asked.detail } };
  }

  /** The prompt did not fit: the chat is cut down and compacted, and asked once more. */
  async #afterOverflow(overflow: Overflow): Promise<Turn> {
    const { options, chat, gauge } = this.#given;
    if (!options.enable_summarize || chat.messages.length === 0) return outOfContext(overflow);
    const handover = await this.#compact('overflow', await gauge.limit());
    if (handover === null) return { kind: 'end', end: terminalLost };
    const asked = await chat.ask(handover.say);
    if (asked.kind !== 'overflow') return this.#turnOf(asked);
    this.#overflowing += 1;
    // Nothing is smaller than the first message alone.
    const spent = handover.outcome === 'restart' || this.#overflowing >= mostOverflowingTurns;
    return spent ? outOfContext(asked) : { kind: 'canned', text: cannedReply };
  }

  /** Replaces the chat by a shorter one. Null where the terminal is gone. */
  async #compact(trigger: 'threshold' | 'overflow', limitTokens: number): Promise<Continuation | null> {
    const { options, form, instruction, chat, gauge, tools } = this.#given;
    const before = chat.messages;
    const tokensEstimate = gauge.estimate(before);
    this.#compactions += 1;
    const seen = await tools.terminal.act([]);
    if (!seen.alive) return null;
    const parts: CompactionPart[] = [];
    const handover: Handover = {
      instruction,
      screen: limitOutput(seen.screen),
      oneReply: form.one,
      merged: options.compacted_history === 'merged',
    };
    if (trigger === 'overflow') this.#unwind(limitTokens);
    const log = ({ outcome, history }: Pick<Continuation, 'outcome' | 'history'>): void =>
      tools.log({
        source: 'system',
        message: described[outcome],
        compaction: {
          ordinal: this.#compactions,
          trigger,
          outcome,
          tokensEstimate,
          limitTokens,
          parts,
          before,
          after: history,
          splits: options.trajectory_config.linear_history && outcome !== 'none',
        },
      });
    const next = await this.#continue(trigger, handover, parts).catch((error: unknown) => {
      log({ outcome: 'none', history: chat.messages }); // the clock ran out: what was asked is kept
      throw error;
    });
    chat.replace(next.history);
    log(next);
    if (next.outcome !== 'none') tools.log({ source: 'user', message: next.say });
    return next;
  }

  /** How the chat goes on: from a summary, from less where there is none, or as it was where it need not be shorter. */
  async #continue(
    trigger: 'threshold' | 'overflow',
    handover: Handover,
    parts: CompactionPart[],
  ): Promise<Continuation> {
    const { options, form, instruction, chat } = this.#given;
    if (chat.messages.length === 0) {
      const say = firstMessage(options, form, instruction, labelledScreen(handover.screen));
      return { outcome: 'restart', history: [], say };
    }
    const summarised = await summarise(chat, handover, parts);
    if (summarised !== null) return summarised;
    return trigger === 'overflow'
      ? fallBack(chat, handover, parts)
      : { outcome: 'none', history: chat.messages, say: '' };
  }

  /** Drops the newest turns until there is room for the questions. */
  #unwind(limitTokens: number): void {
    const { chat, gauge } = this.#given;
    let messages = chat.messages;
    const room = gauge.room(limitTokens);
    while (messages.length > 1 && limitTokens - gauge.estimate(messages) < room) {
      messages = messages.slice(0, -2);
    }
    chat.replace(messages);
  }
}

const described: Readonly<Record<Continuation['outcome'], string>> = {
  summary: "The chat was near the context's limit, and goes on from a summary with answers.",
  'short-summary': "The chat was over the context's limit, and goes on from a short summary.",
  screen: "The chat was over the context's limit, and goes on from the task and the screen.",
  restart: "The chat was over the context's limit, and begins anew.",
  none: "The chat is near the context's limit, and was not summarised.",
};
