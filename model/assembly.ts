// Puts the chunks of one stream together, and tells a complete reply from one that was cut.
import type { FinishReason } from '../domain/ports.ts';
import type { RawAnswer } from './answer.ts';
import { ChunkSchema, wireErrorOf, type WireChoice, type WireError, type WireUsage } from './chunks.ts';
import { readFinishReason } from './finish-reasons.ts';
import { parseJson } from './refusals.ts';
import { ThinkingGauge } from './thinking-gauge.ts';
import { ToolCallAssembly } from './tool-calls.ts';

/** What one event brought: `token` moves the reply on, `finish` ends it, `done` is [DONE]. */
export type Progress = 'token' | 'finish' | 'done' | 'other';

/** The stream said something that no reply can be made of. */
export class BrokenReply extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BrokenReply';
  }
}

/** The server sent an error object in place of a chunk. */
export class ErrorInStream extends Error {
  readonly wire: WireError;

  constructor(wire: WireError) {
    super(wire.message);
    this.name = 'ErrorInStream';
    this.wire = wire;
  }
}

/** A rough count where nothing better is told: four bytes a token. */
const estimateTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4);

/** One reply as it comes. Times are milliseconds since the request was made. */
export class ReplyAssembly {
  readonly #text: string[] = [];
  readonly #reasoning: string[] = [];
  readonly #ids: number[] = [];
  readonly #logprobs: number[] = [];
  readonly #toolCalls = new ToolCallAssembly();
  #idsMissing = false;
  /** A part of a call came without ids: parsers hold text back, so that the usage alone can tell whether any is missing. */
  #idsUnsure = false;
  readonly #thinking: ThinkingGauge;
  #promptIds: number[] | null = null;
  #usage: WireUsage | null = null;
  #finish: FinishReason | null = null;
  #choices = 0;
  #done = false;
  #firstTokenMs: number | null = null;
  #lastTokenMs: number | null = null;

  /** `thinkClose`: what ends thinking within the text, where that is not usual. */
  constructor(thinkClose?: string) {
    this.#thinking = new ThinkingGauge(thinkClose);
  }

  /** Whether nothing but usage and [DONE] may still come. */
  get complete(): boolean {
    return this.#finish !== null || (this.#done && this.#firstTokenMs !== null);
  }

  /**
   * Takes the data of one event.
   * @throws BrokenReply on what is no chunk; ErrorInStream on an error object
   */
  take(data: string, atMs: number): Progress {
    if (data.trim() === '[DONE]') {
      this.#done = true;
      return 'done';
    }
    const value = parseJson(data);
    if (value === undefined) throw new BrokenReply(`a chunk is no JSON: ${data.slice(0, 80)}`);
    const error = data.includes('"error"') || !data.includes('"choices"') ? wireErrorOf(value) : null;
    if (error !== null) throw new ErrorInStream(error);
    const chunk = ChunkSchema.safeParse(value);
    if (!chunk.success) throw new BrokenReply(`a chunk is no chat completion: ${data.slice(0, 80)}`);
    if (chunk.data.prompt_token_ids) this.#promptIds = chunk.data.prompt_token_ids;
    if (chunk.data.usage) this.#usage = chunk.data.usage;
    const choice = chunk.data.choices.find(({ index }) => index === 0);
    return choice === undefined ? 'other' : this.#takeChoice(choice, atMs);
  }

  #takeChoice(choice: WireChoice, atMs: number): Progress {
    this.#choices += 1;
    const text = choice.delta?.content ?? choice.text ?? '';
    const reasoning = choice.delta?.reasoning_content ?? choice.delta?.reasoning ?? '';
    const ids = choice.token_ids ?? [];
    const calls = choice.delta?.tool_calls ?? [];
    const old = choice.delta?.function_call;
    const called = calls.length > 0 || Boolean(old);
    this.#thinking.take({ text, thinks: reasoning !== '', speaks: text !== '' || called }, this.#ids.length);
    if (text !== '') this.#text.push(text);
    if (reasoning !== '') this.#reasoning.push(reasoning);
    for (const id of ids) this.#ids.push(id);
    for (const { logprob } of choice.logprobs?.content ?? []) this.#logprobs.push(logprob);
    for (const logprob of choice.logprobs?.token_logprobs ?? []) this.#logprobs.push(logprob);
    if (choice.prompt_token_ids) this.#promptIds = choice.prompt_token_ids;
    this.#toolCalls.take(old ? [...calls, { index: 0, function: old }] : calls);
    const brought = text !== '' || reasoning !== '';
    if (brought && ids.length === 0) this.#idsMissing = true;
    if (called && ids.length === 0) this.#idsUnsure = true;
    const token = brought || called || ids.length > 0;
    if (token) {
      this.#firstTokenMs ??= atMs;
      this.#lastTokenMs = atMs;
    }
    const reason = choice.finish_reason ?? '';
    if (reason === '') return token ? 'token' : 'other';
    const finish = readFinishReason(reason);
    if (finish === 'broken')
      throw new BrokenReply(`the server gave up on the reply (finish_reason ${reason})`);
    this.#finish = finish;
    this.#lastTokenMs ??= atMs;
    return 'finish';
  }

  /**
   * The whole reply, at the stream's end.
   * @throws BrokenReply where neither a finish reason nor [DONE] after a token has come
   */
  answer(promptText: string, startedAt: string, endedMs: number): RawAnswer {
    if (!this.complete) {
      throw new BrokenReply(
        this.#choices === 0
          ? 'the stream ended before anything of the reply came'
          : 'the stream ended without finish_reason and [DONE]',
      );
    }
    const text = this.#text.join('');
    const reasoning = this.#reasoning.length === 0 ? null : this.#reasoning.join('');
    const toolCalls = this.#toolCalls.calls;
    const written = toolCalls.map((call) => call.name + call.arguments).join('');
    const completionIds = this.#completionIds();
    return {
      kind: 'reply',
      text,
      reasoning,
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
      finishReason: this.#finish ?? 'stop',
      promptIds: this.#promptIds,
      completionIds,
      reasoningIds: completionIds === null ? null : this.#thinking.ids(completionIds.length, this.#finish),
      logprobs: this.#alignedLogprobs(completionIds),
      usage: this.#countTokens(promptText, text + (reasoning ?? '') + written),
      times: { startedAt, firstTokenMs: this.#firstTokenMs, lastTokenMs: this.#lastTokenMs ?? endedMs },
    };
  }

  /** Ids are exact or absent: a chunk without its ids, or a count that usage contradicts, spoils them all. */
  #completionIds(): number[] | null {
    if (this.#ids.length === 0 || this.#idsMissing) return null;
    const counted = this.#usage?.completion_tokens ?? null;
    if (counted === null && this.#idsUnsure) return null;
    return counted !== null && counted !== this.#ids.length ? null : this.#ids;
  }

  #alignedLogprobs(completionIds: readonly number[] | null): number[] | null {
    if (this.#logprobs.length === 0) return null;
    const expected = completionIds?.length ?? this.#usage?.completion_tokens ?? null;
    return expected === null || expected === this.#logprobs.length ? this.#logprobs : null;
  }

  #countTokens(promptText: string, replyText: string): RawAnswer['usage'] {
    const usage = this.#usage;
    if (usage !== null) {
      return {
        promptTokens: usage.prompt_tokens,
        completionTokens: usage.completion_tokens ?? 0,
        cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? null,
        estimated: false,
      };
    }
    const ids = this.#completionIds();
    return {
      promptTokens: this.#promptIds?.length ?? estimateTokens(promptText),
      completionTokens: ids?.length ?? estimateTokens(replyText),
      cachedTokens: null,
      estimated: true,
    };
  }
}
