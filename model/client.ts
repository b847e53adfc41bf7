// The client of one model behind an OpenAI-shaped server, vLLM first: one streamed request an answer.
import { TextDecoder } from 'node:util';
import { createParser } from 'eventsource-parser';
import { request, type Dispatcher } from 'undici';
import { ClassifiedError } from '../domain/errors.ts';
import type { ChatMessage } from '../domain/ports.ts';
import type { ToolOffer } from '../domain/tools.ts';
import { readRetryAfterMs } from '../domain/retry-after.ts';
import type { RawAnswer } from './answer.ts';
import { BrokenReply, ErrorInStream, ReplyAssembly } from './assembly.ts';
import { wireErrorOf } from './chunks.ts';
import { answerInIds, completionBody, type PromptInIds } from './completions.ts';
import { probeModel, type ModelProbe } from './probe.ts';
import {
  connectionFault,
  ContextOverflow,
  describe,
  parseJson,
  refusalOf,
  streamErrorOf,
  type Asked,
} from './refusals.ts';
import { chatBody, samplingOf } from './request.ts';
import { RequestClock, type ModelTimeouts } from './request-clock.ts';
import { tokenize, type TokenizeInput, type Tokenized } from './tokenize.ts';
import { headerOf, openWire, readBody, type WireOptions } from './wire.ts';
import { ModelTrouble } from './trouble.ts';

export interface AskInput {
  readonly messages: readonly ChatMessage[];
  /** Tools that the reply may call; absent: none. */
  readonly offer?: ToolOffer;
  /** The prompt by its ids, sent in place of the messages; absent: the server renders these. */
  readonly promptIds?: PromptInIds;
  /** Sent as X-Session-ID: routing by prefix cache, and the identity that known-rate models read. */
  readonly sessionId: string;
  /** The trial's attempt ordinal, from 1: a sampling seed is moved by it, or k attempts would be one attempt k times. */
  readonly attempt: number;
  /** Tokens of the reply at most; absent: what the sampling says. */
  readonly maxTokens?: number;
  readonly signal?: AbortSignal;
  /** Called once, when the first token has come: the agent's clock is charged from there. */
  readonly onFirstToken?: () => void;
  /** Called for each event of the stream that brings tokens, the first one too. */
  readonly onToken?: () => void;
}

export interface ModelClient {
  /**
   * One request, one complete answer. Fails with a ClassifiedError, or with the signal's reason, at once, when it is
   * aborted; the HTTP request ends with it. A context that overflows is an answer.
   */
  ask(input: AskInput): Promise<RawAnswer>;
  /** The ids that the server's template makes of a chat: ContextOverflow is no answer here, as nothing is sampled. */
  tokenize(input: TokenizeInput): Promise<Tokenized>;
  /** Whether the server is there and serves the model: ModelUnavailable, Forbidden, ModelNotFound or ConfigInvalid. */
  probe(signal?: AbortSignal): Promise<ModelProbe>;
  close(): Promise<void>;
}

/** A reply of the longest context with all its ids and logprobs is a few tens of MiB. */
const longestStreamBytes = 256 * 1024 ** 2;
const longestEventChars = 64 * 1024 ** 2;
const longestErrorBytes = 64 * 1024;

type HttpResponse = Dispatcher.ResponseData;

interface Reading {
  readonly elapsedMs: () => number;
  readonly timeouts: ModelTimeouts;
  readonly onFirstToken: (() => void) | undefined;
  readonly onToken: (() => void) | undefined;
}

/** Reads a stream of events into the assembly, to its end. */
async function readStream(
  response: HttpResponse,
  assembly: ReplyAssembly,
  clock: RequestClock,
  { elapsedMs, timeouts, onFirstToken, onToken }: Reading,
): Promise<void> {
  let begun = false;
  const tooLong = new BrokenReply(`an event is longer than ${longestEventChars} characters`);
  const parser = createParser({
    maxBufferSize: longestEventChars,
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') throw tooLong;
    },
    onEvent: ({ data }) => {
      const progress = assembly.take(data, elapsedMs());
      if (!begun && progress !== 'other') {
        begun = true;
        onFirstToken?.();
      }
      if (progress !== 'other') onToken?.();
      if (assembly.complete) clock.arm(timeouts.trailingMs, 'the end of the stream');
      else if (begun) clock.arm(timeouts.stallMs, 'the next token');
    },
  });
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  for await (const part of response.body as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > longestStreamBytes)
      throw new BrokenReply(`the stream is longer than ${longestStreamBytes} bytes`);
    parser.feed(decode(decoder, part));
  }
  // A last event whose blank line never came is whole where its JSON is.
  parser.feed('\n\n');
}

function decode(decoder: TextDecoder, part: Buffer): string {
  try {
    return decoder.decode(part, { stream: true });
  } catch (error) {
    throw new BrokenReply(`the stream is no UTF-8 (${error instanceof Error ? error.message : 'bad bytes'})`);
  }
}

/** What an answer that is no event stream means. */
async function refuse(asked: Asked, response: HttpResponse): Promise<Error> {
  const { text: body } = await readBody(response, longestErrorBytes);
  if (response.statusCode !== 200) {
    const retryAfterMs = readRetryAfterMs(headerOf(response), Date.now());
    return refusalOf(asked, response.statusCode, body, retryAfterMs);
  }
  const value = parseJson(body);
  const error = wireErrorOf(value);
  if (error !== null) return streamErrorOf(asked, error);
  if (typeof value === 'object' && value !== null && 'choices' in value) {
    return new ClassifiedError('ConfigInvalid', describe(asked, 'the server does not stream its replies'));
  }
  return new ModelTrouble('away', describe(asked, `HTTP 200 without an event stream: ${body}`));
}

/**
 * A client with connections of its own, for any number of requests at once.
 * @throws InputError where `url` is no http(s) URL
 */
export function createModelClient(options: WireOptions): ModelClient {
  const wire = openWire(options);
  const { endpoint, asked, dispatcher, headers, timeouts } = wire;

  const ask = async ({
    messages,
    offer,
    promptIds,
    sessionId,
    attempt,
    maxTokens,
    signal,
    onFirstToken,
    onToken,
  }: AskInput): Promise<RawAnswer> => {
    const sampling = {
      ...samplingOf(options.sampling, attempt),
      ...(maxTokens === undefined ? {} : { maxTokens }),
    };
    const { servedName } = options;
    const inIds = promptIds !== undefined;
    const body = inIds
      ? completionBody(servedName, promptIds, sampling)
      : chatBody(servedName, { messages, sampling, offer });
    const clock = new RequestClock(signal);
    const startedAt = new Date().toISOString();
    const started = performance.now();
    const elapsedMs = (): number => performance.now() - started;
    const assembly = new ReplyAssembly(promptIds?.thinkTags?.[1]);
    let streaming = false;
    try {
      clock.arm(timeouts.firstTokenMs, 'the first token');
      const response = await request(inIds ? endpoint.completions : endpoint.chat, {
        dispatcher,
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/json',
          accept: 'text/event-stream',
          'x-session-id': sessionId,
        },
        body,
        signal: clock.signal,
      });
      const isStream = /^text\/event-stream\b/i.test(headerOf(response)('content-type') ?? '');
      if (response.statusCode !== 200 || !isStream) throw await refuse(asked, response);
      streaming = true;
      await readStream(response, assembly, clock, { elapsedMs, timeouts, onFirstToken, onToken });
    } catch (error) {
      signal?.throwIfAborted();
      // A reply that has its end is whole, whatever becomes of the connection after it.
      if (!assembly.complete) {
        const refusal = error instanceof ErrorInStream ? streamErrorOf(asked, error.wire) : error;
        if (refusal instanceof ContextOverflow) return overflow(refusal, startedAt, elapsedMs());
        throw failureOf(refusal, asked, clock, streaming);
      }
    } finally {
      clock.close();
    }
    try {
      const answer = assembly.answer(body, startedAt, elapsedMs());
      return inIds ? answerInIds(answer, promptIds, asked) : answer;
    } catch (error) {
      throw failureOf(error, asked, clock, true);
    }
  };

  return {
    ask,
    tokenize: (input) => tokenize(wire, input),
    probe: (signal) =>
      probeModel({ asked, endpoint, dispatcher, headers, timeoutMs: timeouts.probeMs }, signal),
    close: () => dispatcher.destroy(),
  };
}

function overflow(error: ContextOverflow, startedAt: string, elapsedMs: number): RawAnswer {
  return {
    kind: 'overflow',
    text: error.message,
    reasoning: null,
    finishReason: 'stop',
    promptIds: null,
    completionIds: null,
    reasoningIds: null,
    logprobs: null,
    usage: { promptTokens: 0, completionTokens: 0, cachedTokens: null, estimated: true },
    times: { startedAt, firstTokenMs: null, lastTokenMs: elapsedMs },
  };
}

/** A failure that no answer of the server explains: time, a cut, or bytes that are no reply. */
function failureOf(error: unknown, asked: Asked, clock: RequestClock, streaming: boolean): Error {
  if (error instanceof ClassifiedError) return error;
  if (clock.expired !== null) {
    return new ModelTrouble('hung', describe(asked, clock.expired), { cause: error });
  }
  if (error instanceof BrokenReply)
    return new ClassifiedError('StreamBroken', describe(asked, error.message));
  const fault = connectionFault(error);
  return streaming
    ? new ClassifiedError('StreamBroken', describe(asked, `the stream was cut: ${fault}`), { cause: error })
    : new ModelTrouble('away', describe(asked, fault), { cause: error });
}
