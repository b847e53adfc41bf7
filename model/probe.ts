// Asks a server once whether it is there and serves the model.
import { request, type Dispatcher } from 'undici';
import { ClassifiedError } from '../domain/errors.ts';
import { readRetryAfterMs } from '../domain/retry-after.ts';
import { ModelListSchema } from './chunks.ts';
import type { Endpoint } from './endpoint.ts';
import { connectionFault, ContextOverflow, describe, parseJson, refusalOf, type Asked } from './refusals.ts';
import { ModelTrouble } from './trouble.ts';

export interface ModelProbe {
  /** vLLM's max_model_len in tokens; null where the server does not tell. */
  readonly contextTokens: number | null;
}

interface ProbeInput {
  readonly asked: Asked;
  readonly endpoint: Endpoint;
  readonly dispatcher: Dispatcher;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

const longestListBytes = 4 * 1024 ** 2;

async function readList(
  input: ProbeInput,
  signal: AbortSignal,
): Promise<{ status: number; body: string; retryAfterMs: number | null }> {
  const response = await request(input.endpoint.models, {
    dispatcher: input.dispatcher,
    headers: { ...input.headers, accept: 'application/json' },
    signal,
  });
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response.body as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes > longestListBytes)
      throw new Error(`the list of models is longer than ${longestListBytes} bytes`);
  }
  const retryAfter = response.headers['retry-after'];
  return {
    status: response.statusCode,
    body: Buffer.concat(parts).toString('utf8'),
    retryAfterMs: readRetryAfterMs(
      (name) => (name === 'retry-after' && typeof retryAfter === 'string' ? retryAfter : null),
      Date.now(),
    ),
  };
}

/** @throws ClassifiedError with one clear line: not there, refused, or the model is none of those it serves */
export async function probeModel(input: ProbeInput, caller?: AbortSignal): Promise<ModelProbe> {
  const { asked } = input;
  const deadline = AbortSignal.timeout(input.timeoutMs);
  const list = await readList(
    input,
    caller === undefined ? deadline : AbortSignal.any([caller, deadline]),
  ).catch((error: unknown) => {
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
  return { contextTokens: served.max_model_len ?? null };
}
