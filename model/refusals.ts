// What a server's refusal means: a failure class of the table, or the overflow of the context.
import { ClassifiedError } from '../domain/errors.ts';
import type { FailureClass } from '../domain/failures.ts';
import type { Sampling } from '../domain/sweep.ts';
import { wireErrorOf, type WireError } from './chunks.ts';
import { contextLengthIn, saysOverflow } from './overflow.ts';
import { samplingNames } from './request.ts';
import { HttpRefusal, ModelTrouble, troubleOfStatus } from './trouble.ts';

/** The prompt does not fit: an answer and no failure, so it is told apart by its type. */
export class ContextOverflow extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ContextOverflow';
  }
}

/** Who was asked, for messages and for what their settings explain. */
export interface Asked {
  readonly servedName: string;
  /** The endpoint as people may see it. */
  readonly shown: string;
  readonly sampling: Sampling;
  /** Takes the credential out of a text. */
  readonly redact: (text: string) => string;
}

const longestMessage = 500;

/** `model NAME at URL: WHAT`, on one line, bounded, without the credential. */
export function describe(asked: Asked, what: string): string {
  const line = asked.redact(what).replace(/\s+/g, ' ').trim();
  const cut = line.length > longestMessage ? `${line.slice(0, longestMessage)}…` : line;
  return `model ${asked.servedName} at ${asked.shown}: ${cut}`;
}

const samplingWireNames = new Set<string>(Object.values(samplingNames));

/** vLLM names a field that it cannot read at all by its place: `body.chat_template_kwargs`, `body.stop.0`. */
const settingOf = (param: string): string => param.replace(/^body\./, '').replace(/\..*/, '');

/** Of servers that were started without a tool parser (vLLM, SGLang, llama.cpp), or whose model has no tools (Ollama). */
const takesNoTools =
  /enable-auto-tool-choice|tool-call-parser|tools param requires|not support (?:tools|function calling)|tools are not supported/i;

/** Of these every server says that it is for now, whatever words it adds. */
const momentary = new Set([408, 409, 425, 429]);
/** An error of the server may quote what it was asked: there only the words that name its own flags. */
const toolsRefusal = (status: number): RegExp =>
  status >= 500 ? /enable-auto-tool-choice|tool-call-parser|tools param requires/i : takesNoTools;

/** A 400 or 422: the settings' fault where it names one of them, else our own. */
function badRequestClass(error: WireError | null): FailureClass {
  const param = error?.param ?? null;
  if (param !== null && samplingWireNames.has(settingOf(param))) return 'ConfigInvalid';
  return 'Unexpected';
}

function notFoundClass(error: WireError | null): FailureClass {
  if (error === null) return 'ModelUnavailable'; // an ingress without a backend answers a page of its own
  return /model|lora|adapter/i.test(`${error.message} ${error.code ?? ''}`)
    ? 'ModelNotFound'
    : 'ConfigInvalid';
}

function classOfStatus(status: number, error: WireError | null): FailureClass {
  if (error !== null && !momentary.has(status) && toolsRefusal(status).test(error.message))
    return 'ConfigInvalid';
  if (status === 400 || status === 422) return badRequestClass(error);
  if (status === 401 || status === 402 || status === 403 || status === 407) return 'Forbidden';
  if (status === 404) return notFoundClass(error);
  if (momentary.has(status) || status >= 499) return 'ModelUnavailable';
  return 'ConfigInvalid'; // redirects, 405, 413, 415: the URL or what stands before the server
}

interface Refusal {
  readonly status: number;
  readonly error: WireError | null;
  readonly said: string;
  readonly retryAfterMs: number | null;
}

function failureOfStatus({ status, error, said, retryAfterMs }: Refusal, message: string): ClassifiedError {
  const failureClass = classOfStatus(status, error);
  const options = retryAfterMs === null ? {} : { retryAfterMs };
  return failureClass === 'ModelUnavailable'
    ? new ModelTrouble(troubleOfStatus(status, said, retryAfterMs), message, options)
    : new HttpRefusal(failureClass, status, message, options);
}

/**
 * The failure that an HTTP answer other than a stream means.
 * Overflow is looked for in every refusal but rate limits and refused credentials: servers send it as 400, 413, 422
 * and 500 alike.
 */
export function refusalOf(
  asked: Asked,
  status: number,
  body: string,
  retryAfterMs: number | null,
): ClassifiedError | ContextOverflow {
  const error = wireErrorOf(parseJson(body));
  const said = error?.message ?? body;
  const limited = status === 401 || status === 403 || status === 429;
  if (status >= 400 && !limited && saysOverflow(`${said} ${error?.type ?? ''} ${error?.code ?? ''}`)) {
    return overflowOf(asked, said);
  }
  const message = describe(asked, `HTTP ${status}${said.trim() === '' ? '' : `: ${said}`}`);
  return failureOfStatus({ status, error, said, retryAfterMs }, message);
}

/** The failure that an error object inside a stream means: by its code where that is a status, else a broken stream. */
export function streamErrorOf(asked: Asked, error: WireError): ClassifiedError | ContextOverflow {
  const status = Number(error.code);
  if (status !== 429 && saysOverflow(`${error.message} ${error.type ?? ''} ${error.code ?? ''}`)) {
    return overflowOf(asked, error.message);
  }
  const message = describe(asked, `an error inside the stream: ${error.message}`);
  if (status >= 400 && status <= 599) {
    return failureOfStatus({ status, error, said: error.message, retryAfterMs: null }, message);
  }
  return new ClassifiedError('StreamBroken', message);
}

function overflowOf(asked: Asked, said: string): ClassifiedError | ContextOverflow {
  const context = contextLengthIn(said);
  const { maxTokens } = asked.sampling;
  if (context !== null && maxTokens !== undefined && maxTokens >= context) {
    const what = `maxTokens ${maxTokens} leaves no room for a prompt in a context of ${context} tokens: lower it`;
    return new ClassifiedError('ConfigInvalid', describe(asked, what));
  }
  return new ContextOverflow(describe(asked, said));
}

/** The value of a JSON text, undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const connectionWords: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name could not be resolved',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'connecting timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connecting timed out',
  UND_ERR_SOCKET: 'the connection was closed',
};

/** The word for a network error, looked for through its causes and, where several addresses were tried, through those. */
export function connectionFault(error: unknown): string {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const code = 'code' in at && typeof at.code === 'string' ? at.code : null;
    if (code !== null) return `${connectionWords[code] ?? at.message} (${code})`;
    if (at instanceof AggregateError && at.errors[0] !== undefined) return connectionFault(at.errors[0]);
  }
  return error instanceof Error ? error.message : String(error);
}
