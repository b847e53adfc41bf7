// What every request to one endpoint has in common: connections, headers, and how its failures are told.
import { Agent, request, type Dispatcher } from 'undici';
import { ClassifiedError } from '../domain/errors.ts';
import { readRetryAfterMs } from '../domain/retry-after.ts';
import type { Sampling } from '../domain/sweep.ts';
import { wireErrorOf } from './chunks.ts';
import { readEndpoint, type Endpoint } from './endpoint.ts';
import {
  connectionFault,
  ContextOverflow,
  describe,
  parseJson,
  refusalOf,
  streamErrorOf,
  type Asked,
} from './refusals.ts';
import { defaultTimeouts, RequestClock, type ModelTimeouts } from './request-clock.ts';
import type { Secret } from './secret.ts';
import { ModelTrouble } from './trouble.ts';

export interface WireOptions {
  /** Base URL, with or without /v1. */
  readonly url: string;
  /** The model's name on that server. */
  readonly servedName: string;
  readonly apiKey: Secret | null;
  readonly sampling: Sampling;
  readonly timeouts?: Partial<ModelTimeouts>;
}

export interface Wire {
  readonly asked: Asked;
  readonly endpoint: Endpoint;
  readonly dispatcher: Dispatcher;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeouts: ModelTimeouts;
}

/** @throws InputError where `url` is no http(s) URL */
export function openWire({ url, servedName, apiKey, sampling, timeouts: given }: WireOptions): Wire {
  const endpoint = readEndpoint(url);
  const timeouts: ModelTimeouts = { ...defaultTimeouts, ...given };
  const key = apiKey?.reveal().trim() ?? '';
  return {
    asked: {
      servedName,
      shown: endpoint.shown,
      sampling,
      redact: (text) => (key === '' ? text : text.replaceAll(key, '[secret]')),
    },
    endpoint,
    // The clocks of a request are ours; keep-alive stays under the five seconds after which uvicorn closes.
    dispatcher: new Agent({
      connect: { timeout: timeouts.connectMs },
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 4_000,
    }),
    headers: {
      'user-agent': 'passband',
      ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
    },
    timeouts,
  };
}

export interface WholeRequest {
  readonly url: URL;
  readonly body: object;
  /** Sent as X-Session-ID; absent: none. */
  readonly sessionId?: string;
  readonly signal?: AbortSignal | undefined;
}

/** Of a body that is read whole: the logprobs of the longest context are some tens of MiB. */
const longestBodyBytes = 256 * 1024 ** 2;

/** The headers of an answer, by their names in lower case; null where there is none. */
export const headerOf =
  ({ headers }: Pick<Dispatcher.ResponseData, 'headers'>) =>
  (name: string): string | null => {
    const value = headers[name];
    return Array.isArray(value) ? (value[0] ?? null) : (value ?? null);
  };

/** A body as text, no more of it than so many bytes; `whole` false where there was more. */
export async function readBody(
  { body }: Pick<Dispatcher.ResponseData, 'body'>,
  longestBytes: number,
): Promise<{ readonly text: string; readonly whole: boolean }> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes > longestBytes) break;
  }
  return { text: Buffer.concat(parts).toString('utf8'), whole: bytes <= longestBytes };
}

/**
 * Posts JSON and reads the whole JSON answer, within the time that a first token has.
 * @throws ClassifiedError, or ContextOverflow where the prompt does not fit
 */
export async function postWhole(
  wire: Wire,
  { url, body, sessionId, signal }: WholeRequest,
): Promise<unknown> {
  const { asked, dispatcher, headers, timeouts } = wire;
  const clock = new RequestClock(signal);
  try {
    clock.arm(timeouts.firstTokenMs, 'the answer');
    const response = await request(url, {
      dispatcher,
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json',
        ...(sessionId === undefined ? {} : { 'x-session-id': sessionId }),
      },
      body: JSON.stringify(body),
      signal: clock.signal,
    });
    const { text, whole } = await readBody(response, longestBodyBytes);
    if (response.statusCode !== 200) {
      throw refusalOf(asked, response.statusCode, text, readRetryAfterMs(headerOf(response), Date.now()));
    }
    if (!whole) {
      const what = `the answer is longer than ${longestBodyBytes} bytes`;
      throw new ClassifiedError('Unexpected', describe(asked, what));
    }
    const value = parseJson(text);
    const error = wireErrorOf(value);
    if (error !== null) throw streamErrorOf(asked, error);
    return value;
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ClassifiedError || error instanceof ContextOverflow) throw error;
    throw clock.expired === null
      ? new ModelTrouble('away', describe(asked, connectionFault(error)), { cause: error })
      : new ModelTrouble('hung', describe(asked, clock.expired), { cause: error });
  } finally {
    clock.close();
  }
}
