// Asks a server once whether it is there and serves the model.
import { request, type Dispatcher } from 'undici';
import { ClassifiedError } from '../domain/errors.ts';
import { readRetryAfterMs } from '../domain/retry-after.ts';
import type { Serving } from '../domain/serving.ts';
import { ModelListSchema, VersionSchema, type ModelCard } from './chunks.ts';
import type { Endpoint } from './endpoint.ts';
import { connectionFault, ContextOverflow, describe, parseJson, refusalOf, type Asked } from './refusals.ts';
import { ModelTrouble } from './trouble.ts';
import { headerOf, readBody } from './wire.ts';

export interface ModelProbe {
  /** vLLM's max_model_len in tokens; null where the server does not tell. */
  readonly contextTokens: number | null;
  /** Absent where it was not asked for. */
  readonly serving?: Serving;
}

interface ProbeInput {
  readonly asked: Asked;
  readonly endpoint: Endpoint;
  readonly dispatcher: Dispatcher;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

const longestListBytes = 4 * 1024 ** 2;

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly retryAfterMs: number | null;
}

async function read(input: ProbeInput, url: URL, signal: AbortSignal): Promise<Answer> {
  const response = await request(url, {
    dispatcher: input.dispatcher,
    headers: { ...input.headers, accept: 'application/json' },
    signal,
  });
  const { text, whole } = await readBody(response, longestListBytes);
  if (!whole) throw new Error(`the answer is longer than ${longestListBytes} bytes`);
  return {
    status: response.statusCode,
    body: text,
    retryAfterMs: readRetryAfterMs(headerOf(response), Date.now()),
  };
}

/** @throws ClassifiedError with one clear line: not there, refused, or the model is none of those it serves */
export async function probeModel(input: ProbeInput, caller?: AbortSignal): Promise<ModelProbe> {
  const { asked } = input;
  const deadline = AbortSignal.timeout(input.timeoutMs);
  const signal = caller === undefined ? deadline : AbortSignal.any([caller, deadline]);
  const list = await read(input, input.endpoint.models, signal).catch((error: unknown) => {
    caller?.throwIfAborted();
    const fault = deadline.aborted ? `no answer within ${input.timeoutMs / 1000} s` : connectionFault(error);
    throw new ModelTrouble(deadline.aborted ? 'hung' : 'away', describe(asked, fault), { cause: error });
  });
  if (list.status !== 200) {
    const refusal = refusalOf(asked, list.status, list.body, list.retryAfterMs);
    if (refusal instanceof ContextOverflow) throw new ClassifiedError('Unexpected', refusal.message);
    throw refusal;
  }
  const parsed = ModelListSchema.safeParse(parseJson(list.body));
  if (!parsed.success) {
    throw new ClassifiedError(
      'ConfigInvalid',
      describe(asked, 'GET models is no list of models: is the URL right?'),
    );
  }
  const served = parsed.data.data.find(({ id }) => id === asked.servedName);
  if (served === undefined) {
    const names = parsed.data.data.slice(0, 10).map(({ id }) => id);
    const what = `not served there; it serves ${names.length === 0 ? 'nothing' : names.join(', ')}`;
    throw new ClassifiedError('ModelNotFound', describe(asked, what));
  }
  // vLLM tells an adapter's context at its base alone.
  const base = parsed.data.data.find(({ id }) => id === served.parent);
  const contextTokens = served.max_model_len ?? base?.max_model_len ?? null;
  return { contextTokens, serving: await servingOf(input, served, contextTokens, signal) };
}

async function servingOf(
  input: ProbeInput,
  { root, parent }: ModelCard,
  contextTokens: number | null,
  signal: AbortSignal,
): Promise<Serving> {
  return {
    root: root ?? null,
    parent: parent ?? null,
    contextTokens,
    serverVersion: await readVersion(input, signal),
  };
}

/** Null where the server has none to tell, or does not tell it in time: a fact that nothing depends on. */
async function readVersion(input: ProbeInput, signal: AbortSignal): Promise<string | null> {
  try {
    const { status, body } = await read(input, input.endpoint.version, signal);
    const parsed = VersionSchema.safeParse(parseJson(body));
    return status === 200 && parsed.success ? parsed.data.version : null;
  } catch {
    return null;
  }
}
