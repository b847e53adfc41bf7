// The Model port over its records: the n-th call answers from its record, else asks, writes the record, and goes on.
import type { ContextRecord, ReplyRecord } from '../../domain/episode.ts';
import { ClassifiedError } from '../../domain/errors.ts';
import type { Answer, ChatMessage, Model } from '../../domain/ports.ts';
import type { Serving } from '../../domain/serving.ts';
import type { TokensIn } from '../../domain/sweep.ts';
import type { ToolCall, ToolDefinition, ToolOffer } from '../../domain/tools.ts';
import type { RawAnswer, RawToolCall } from '../../model/answer.ts';
import type { AskInput, ModelClient } from '../../model/client.ts';
import type { PromptInIds } from '../../model/completions.ts';
import { contextLengthIn } from '../../model/overflow.ts';
import type { ModelProbe } from '../../model/probe.ts';
import { TimeUp } from './ending.ts';
import { PromptIdsChain } from './prompt-ids.ts';
import type { EpisodeSession } from './session.ts';
import { findContext, readContext, tellsNothing } from './recorded-context.ts';
import { promptInIds } from './tokens-in.ts';
import { digestOf, replies } from './turn-records.ts';

/** One call: what was asked, and as which. */
interface Asked {
  readonly messages: readonly ChatMessage[];
  readonly call: number;
  readonly requestDigest: string;
}

/** What an episode asks a model's servers: of its own session, each time. */
export interface EpisodeClient extends Pick<ModelClient, 'ask' | 'tokenize'> {
  probe(signal: AbortSignal, sessionId: string): Promise<ModelProbe>;
}

export interface RecordedModelOptions {
  readonly name: string;
  readonly sessionId: string;
  readonly attempt: number;
  /** Asked for when a call has no record: an episode that goes on from its records needs no endpoint for them. */
  readonly client: () => Promise<EpisodeClient>;
  /** Absent: the server renders the chat. */
  readonly tokensIn?: TokensIn;
  /** Of the sampling: what a server keeps of its context for the reply. */
  readonly maxTokens: number | null;
}

export class RecordedModel implements Model {
  readonly name: string;
  /** Records of the calls that were answered so far, in order: a reply that was cut is none. */
  readonly replies: ReplyRecord[] = [];
  /** What the last request offered. */
  tools: readonly ToolDefinition[] = [];
  readonly #session: EpisodeSession;
  readonly #options: RecordedModelOptions;
  readonly #ids = new PromptIdsChain();
  #context: ContextRecord | null = null;

  constructor(session: EpisodeSession, options: RecordedModelOptions) {
    this.name = options.name;
    this.#session = session;
    this.#options = options;
  }

  ask(messages: readonly ChatMessage[], offer?: ToolOffer): Promise<Answer> {
    return this.#session.call(async () => {
      const call = this.replies.length;
      this.tools = offer?.tools ?? [];
      const requestDigest = digestOf(offer === undefined ? messages : { messages, offer });
      const { records, clock } = this.#session;
      const known = await records.find(replies, call, requestDigest);
      // Before the first reply: what is told later may be of another server.
      if (known === null && call === 0) await this.#askServing();
      const record =
        known ??
        (await records.write(
          replies,
          call,
          this.#recordOf(await this.#askNow(messages, offer), { messages, call, requestDigest }),
        ));
      if (record.kind === 'cut') {
        clock.chargeCutReply();
        throw new TimeUp();
      }
      this.replies.push(record);
      this.#ids.take(record, messages);
      clock.chargeReply(record);
      return answerOf(record, this.#options.maxTokens);
    });
  }

  /** A server that does not tell did so as the sweep began: it is asked again, as one that is away. */
  readonly promptTokensLimit = (): Promise<number | null> =>
    this.#session.call(async () => {
      const { contextTokens } = await this.#readContext().catch((error: unknown) => {
        throw tellsNothing(error)
          ? new ClassifiedError('ModelUnavailable', error.message, { cause: error })
          : error;
      });
      return contextTokens === null ? null : promptLimit(contextTokens, this.#options.maxTokens);
    });

  /** What the server said of itself at the beginning; undefined where it did not tell. It is not asked again. */
  async serving(): Promise<Serving | undefined> {
    this.#context ??= await findContext(this.#session);
    return this.#context?.serving;
  }

  /** A fact beside the verdict: a server that does not tell it may give its reply all the same. */
  async #askServing(): Promise<void> {
    try {
      await this.#readContext();
    } catch (error) {
      if (!tellsNothing(error)) throw error;
    }
  }

  async #readContext(): Promise<ContextRecord> {
    const { client, sessionId } = this.#options;
    return (this.#context ??= await readContext(this.#session, async (signal) =>
      (await client()).probe(signal, sessionId),
    ));
  }

  /**
   * Asks the server. The time that is left runs from the first token on; the first one that comes when it is used up cuts
   * the reply. A server that has gone silent cuts nothing: its stream breaks, and the turn is asked again.
   */
  async #askNow(messages: readonly ChatMessage[], offer: ToolOffer | undefined): Promise<Recorded> {
    const { clock, signal, now } = this.#session;
    const startedAt = now().toISOString();
    const deadline = new AbortController();
    let firstMs: number | null = null;
    const input: AskInput = {
      messages,
      ...(offer === undefined ? {} : { offer }),
      sessionId: this.#options.sessionId,
      attempt: this.#options.attempt,
      signal: AbortSignal.any([signal, deadline.signal]),
      onToken: () => {
        const nowMs = performance.now();
        firstMs ??= nowMs;
        if (!clock.countsTokens && nowMs - firstMs > clock.remainingMs) deadline.abort(new TimeUp());
      },
    };
    try {
      const client = await this.#options.client();
      const promptIds = await this.#promptIds(client, messages);
      return await client.ask(promptIds === null ? input : { ...input, promptIds });
    } catch (error) {
      if (deadline.signal.aborted && !signal.aborted) return cutReply(startedAt, clock.remainingMs);
      throw error;
    }
  }

  async #promptIds(
    client: Pick<ModelClient, 'tokenize'>,
    messages: readonly ChatMessage[],
  ): Promise<PromptInIds | null> {
    const { tokensIn, sessionId } = this.#options;
    if (tokensIn === undefined) return null;
    if (this.tools.length > 0)
      throw new ClassifiedError('ConfigInvalid', `model ${this.name}: tokens_in takes no tools`);
    const { signal } = this.#session;
    return await promptInIds(messages, { settings: tokensIn, client, chain: this.#ids, sessionId, signal });
  }

  #recordOf(answer: Recorded, { messages, call, requestDigest }: Asked): ReplyRecord {
    return {
      format: 'passband.reply',
      version: 2,
      call,
      kind: answer.kind,
      requestDigest,
      text: answer.text,
      reasoning: answer.reasoning,
      ...(answer.toolCalls === undefined ? {} : { toolCalls: named(answer.toolCalls, call) }),
      finishReason: answer.finishReason,
      promptIds: answer.promptIds === null ? null : this.#ids.next(answer.promptIds, messages),
      completionIds: answer.completionIds,
      reasoningIds: answer.reasoningIds,
      logprobs: answer.logprobs,
      usage: answer.usage,
      times: { ...answer.times, earlierTries: this.#earlierTries() },
    };
  }

  /** Tries of the activity before this one that no earlier reply has accounted for: they failed at this call. */
  #earlierTries(): number {
    const accounted = this.replies.reduce((sum, { times }) => sum + times.earlierTries, 0);
    return Math.max(0, this.#session.attempt - 1 - accounted);
  }
}

/** Every call under an id of its own: a server that gives none, or one twice, leaves the result without its call. */
function named(calls: readonly RawToolCall[], call: number): ToolCall[] {
  const seen = new Set<string>();
  return calls.map(({ id, ...written }, at) => {
    const own = id === null || seen.has(id) ? `call_${call}_${at + 1}` : id;
    seen.add(own);
    return { id: own, ...written };
  });
}

/** What a record is made of: an answer, or that there was no time for one. */
type Recorded = Omit<RawAnswer, 'kind'> & Pick<ReplyRecord, 'kind'>;

/** The server was told to stop: how many tokens it had sent is not known. */
const cutReply = (startedAt: string, afterMs: number): Recorded => ({
  kind: 'cut',
  text: '',
  reasoning: null,
  finishReason: 'length',
  promptIds: null,
  completionIds: null,
  reasoningIds: null,
  logprobs: null,
  usage: { promptTokens: 0, completionTokens: 0, cachedTokens: null, estimated: true },
  times: { startedAt, firstTokenMs: 0, lastTokenMs: afterMs },
});

/** A reply takes one token at least. */
const promptLimit = (contextTokens: number, maxTokens: number | null): number =>
  Math.max(1, contextTokens - (maxTokens ?? 1));

function answerOf(record: ReplyRecord, maxTokens: number | null): Answer {
  if (record.kind === 'overflow') {
    const told = contextLengthIn(record.text);
    return {
      kind: 'overflow',
      message: record.text,
      ...(told === null ? {} : { promptTokensLimit: promptLimit(told, maxTokens) }),
    };
  }
  return {
    kind: 'reply',
    text: record.text,
    reasoning: record.reasoning,
    ...(record.toolCalls === undefined ? {} : { toolCalls: record.toolCalls }),
    finishReason: record.finishReason,
    promptTokens: record.usage.promptTokens,
    completionTokens: record.usage.completionTokens,
  };
}
