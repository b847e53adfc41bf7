// The known-rate models' server: OpenAI's routes over node:http, on loopback unless told otherwise.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { InputError } from '../../domain/errors.ts';
import { isModelProbe } from '../../domain/session-ids.ts';
import { ApiError, badRequest } from './api-error.ts';
import { chunksOf, completionOf, wholeAnswer, type Reply } from './answers.ts';
import type { Fault, Faults } from './faults.ts';
import { rateOf } from './intent.ts';
import type { KnownTask } from './known-task.ts';
import { findStep, listIntents, think, type ChooseWay, type Mind } from './mind.ts';
import { readAsked, readToTokenize, type Asked } from './requests.ts';
import { readSession, type Session } from './session.ts';
import { thoughtOf } from './thinking.ts';
import type { Spoken } from './tool-calls.ts';

export interface KnownRateOptions {
  readonly tasks: readonly KnownTask[];
  /** Served names, each `known-rate-P` with P from 0 to 1. */
  readonly models: readonly string[];
  /** Same seed, same intents: calibration must be given the same. */
  readonly seed: number;
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Before the first byte of each reply. Default 0. */
  readonly latencyMs?: number;
  /** Pace of streamed replies. Default null: as fast as they can be sent. */
  readonly tokensPerSecond?: number | null;
  /** Prompts above it are refused with vLLM's overflow message. Default 262,144. */
  readonly maxModelLen?: number;
  /** Each reply begins with thinking, which the template leaves out of earlier turns. Default: none. */
  readonly thinking?: boolean;
  readonly faults?: Faults;
  /** Default: every failing trial fails as its intent draws it. */
  readonly chooseWay?: ChooseWay;
}

export interface KnownRateServer {
  /** `http://HOST:PORT/v1`: what a sweep takes as a model's URL. */
  readonly url: string;
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** Tokens a chunk of a stream that is not paced; of a paced one those of a 20th of a second. */
const unpacedChunkTokens = 64;
const chunksPerSecond = 20;

/** Starts the server. Throws InputError where a model's name is none of a known-rate model. */
export async function startKnownRateServer(options: KnownRateOptions): Promise<KnownRateServer> {
  const {
    models,
    latencyMs = 0,
    tokensPerSecond = null,
    maxModelLen = 262_144,
    host = '127.0.0.1',
  } = options;
  for (const model of models) {
    if (rateOf(model) === null) {
      throw new InputError(`model ${model}: a known-rate model is named known-rate-P with P from 0 to 1`);
    }
  }
  const mind: Mind = {
    seed: options.seed,
    tasks: new Map(options.tasks.map((task) => [task.slug, task])),
    chooseWay: options.chooseWay ?? (() => null),
  };
  let arrivals = 0;

  function checkServed(model: string): void {
    if (models.includes(model)) return;
    throw new ApiError(404, 'NotFoundError', `The model \`${model}\` does not exist.`);
  }

  function compose(asked: Asked, session: Session | null): Reply {
    checkServed(asked.model);
    const length = asked.promptIds.length;
    if (length + (asked.maxTokens ?? 1) > maxModelLen) {
      throw badRequest(
        `This model's maximum context length is ${maxModelLen} tokens. However, you requested ` +
          `${length + (asked.maxTokens ?? 0)} tokens (${length} in the messages, ${asked.maxTokens ?? 0} in ` +
          `the completion). Please reduce the length of the messages or completion.`,
      );
    }
    const spoken = session === null ? { content: 'Yes.', calls: [] } : replyTo(asked, session);
    const turns = asked.messages.filter(({ role }) => role === 'assistant').length;
    const thought = session !== null && options.thinking === true ? thoughtOf(turns) : '';
    return {
      ...asked,
      name: JSON.stringify([session, asked.model, asked.messages.length]),
      ...completionOf({ thought, spoken }, asked.maxTokens ?? maxModelLen - length),
    };
  }

  function replyTo(asked: Asked, session: Session): Spoken {
    const found = findStep(mind, session);
    if (typeof found === 'string') throw badRequest(found);
    return think(mind, { model: asked.model, session, ...found }, asked);
  }

  async function stream(reply: Reply, response: ServerResponse, cutAfter: number | null): Promise<void> {
    const size =
      tokensPerSecond === null
        ? unpacedChunkTokens
        : Math.max(1, Math.round(tokensPerSecond / chunksPerSecond));
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
    });
    let sent = 0;
    for (const chunk of chunksOf(reply, size)) {
      if (response.closed) return;
      if (sent === cutAfter) {
        response.destroy();
        return;
      }
      // Handed over before the next, so that a slow reader slows us, and a cut comes after what was sent.
      await new Promise<void>((resolve) =>
        response.write(`data: ${JSON.stringify(chunk)}\n\n`, () => resolve()),
      );
      sent += 1;
      if (tokensPerSecond !== null) await wait((size / tokensPerSecond) * 1000);
    }
    response.end('data: [DONE]\n\n');
  }

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    form: Reply['form'],
  ): Promise<void> {
    const asked = await readAsked(request, form);
    const header = request.headers['x-session-id'];
    const id = Array.isArray(header) ? header.join() : header;
    const isTrial = !asked.promptLogprobs && !(id !== undefined && isModelProbe(id));
    const session = isTrial ? readSession(id) : null;
    if (typeof session === 'string') throw badRequest(session);
    const composed = compose(asked, session);
    const call = asked.messages.filter(({ role }) => role === 'assistant').length;
    const fault: Fault | null =
      options.faults?.({ session, model: asked.model, call, arrival: arrivals++ }) ?? null;
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'status') {
      if (fault.retryAfterSec !== undefined) response.setHeader('retry-after', String(fault.retryAfterSec));
      throw new ApiError(fault.status, 'InternalServerError', `fault asked for by the test: ${fault.status}`);
    }
    if (latencyMs > 0) await wait(latencyMs);
    if (asked.stream) await stream(composed, response, fault?.afterChunks ?? null);
    else if (fault !== null) response.destroy();
    else sendJson(response, 200, wholeAnswer(composed));
  }

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    switch (`${request.method ?? ''} ${url.pathname}`) {
      case 'POST /v1/chat/completions':
        return answer(request, response, 'chat');
      case 'POST /v1/completions':
        return answer(request, response, 'text');
      case 'POST /tokenize': {
        const { model, ids } = await readToTokenize(request);
        checkServed(model);
        sendJson(response, 200, {
          count: ids.length,
          max_model_len: maxModelLen,
          tokens: ids,
          token_strs: null,
        });
        return;
      }
      case 'GET /v1/models':
        sendJson(response, 200, {
          object: 'list',
          data: models.map((id) => ({
            id,
            object: 'model',
            created: 0,
            owned_by: 'passband',
            root: id,
            max_model_len: maxModelLen,
          })),
        });
        return;
      case 'GET /intents':
        sendJson(response, 200, { seed: mind.seed, intents: intents(url.searchParams) });
        return;
      case 'GET /health':
        sendJson(response, 200, {});
        return;
      default:
        throw new ApiError(404, 'NotFoundError', `there is no ${request.method ?? ''} ${url.pathname}`);
    }
  }

  function intents(query: URLSearchParams): object[] {
    const asked = query.get('model');
    const attempts = Number(query.get('attempts') ?? 8);
    if (asked !== null && rateOf(asked) === null) throw badRequest(`${asked} is not a known-rate model`);
    if (!Number.isInteger(attempts) || attempts < 1 || attempts > 1000) {
      throw badRequest('attempts is a whole number from 1 to 1000');
    }
    return listIntents(mind, asked === null ? models : [asked], attempts);
  }

  const server = createServer((request, response) => {
    route(request, response).catch((error: unknown) => {
      const known =
        error instanceof ApiError ? error : new ApiError(500, 'InternalServerError', String(error));
      if (response.headersSent) response.destroy();
      else {
        const { status, type, message } = known;
        sendJson(response, status, { error: { message, type, param: null, code: status } });
      }
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}/v1`,
    port,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.end(bytes);
}
