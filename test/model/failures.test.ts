// What each refusal, cut and silence of a server means, by class.
import { createServer } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FailureClass } from '../../domain/failures.ts';
import { createModelClient, type ModelClient } from '../../model/client.ts';
import { Secret } from '../../model/secret.ts';
import {
  chunk,
  done,
  event,
  reply,
  startScriptedServer,
  stream,
  type ScriptedServer,
} from './scripted-server.ts';
import { failureOf } from '../support/failure-of.ts';

let server: ScriptedServer;
let client: ModelClient;
const clientOf = (url: string): ModelClient =>
  createModelClient({
    url,
    servedName: 'tiny',
    apiKey: new Secret('sk-hidden'),
    sampling: { maxTokens: 512 },
    timeouts: { firstTokenMs: 2_000, stallMs: 1_000, trailingMs: 100, probeMs: 1_000, connectMs: 1_000 },
  });

const ask = () => client.ask({ messages: [{ role: 'user', content: 'hi' }], sessionId: 's', attempt: 1 });

async function deadUrl(): Promise<string> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}` : '';
}

beforeAll(async () => {
  server = await startScriptedServer();
  client = clientOf(server.url);
});
afterAll(async () => {
  await client.close();
  await server.close();
});

const say = (message: string, more: Record<string, unknown> = {}): string =>
  JSON.stringify({ error: { message, type: 'BadRequestError', param: null, code: 400, ...more } });

describe('a refusal', () => {
  it.each<[string, number, string, FailureClass]>([
    ['a refused key', 401, say('Incorrect API key provided: sk-hidden'), 'Forbidden'],
    ['no permission', 403, say('no'), 'Forbidden'],
    [
      'an unknown model',
      404,
      say('The model `tiny` does not exist.', { type: 'NotFoundError', param: 'model' }),
      'ModelNotFound',
    ],
    ['a wrong path', 404, '{"detail":"Not Found"}', 'ConfigInvalid'],
    ["an ingress's page for a server that is not there", 404, 'default backend - 404', 'ModelUnavailable'],
    [
      'sampling that the server refuses',
      400,
      say('temperature must be <= 2', { param: 'temperature' }),
      'ConfigInvalid',
    ],
    ['a bad request of ours', 400, say('messages[0].role is odd', { param: 'messages' }), 'Unexpected'],
    [
      'a validation error of FastAPI',
      422,
      '{"detail":[{"loc":["body","messages"],"msg":"field required"}]}',
      'Unexpected',
    ],
    ['a body that a proxy finds too large', 413, '<html>413</html>', 'ConfigInvalid'],
    ['a redirect', 302, '', 'ConfigInvalid'],
    [
      'a rate limit that speaks of tokens',
      429,
      say('Limit reached: too many tokens, maximum context length per minute'),
      'ModelUnavailable',
    ],
    ['a timeout of a gateway', 408, '', 'ModelUnavailable'],
    [
      'an engine that died',
      500,
      '{"object":"error","message":"EngineCore encountered an issue","code":500}',
      'ModelUnavailable',
    ],
    ['a server that restarts', 503, '<html>503 Service Unavailable</html>', 'ModelUnavailable'],
    ['HTML in place of a stream', 200, '<html>hello</html>', 'ModelUnavailable'],
    ['a reply that is not streamed', 200, '{"choices":[{"message":{"content":"x"}}]}', 'ConfigInvalid'],
  ])('for %s (%i) is classed', async (_, status, body, expected) => {
    server.use(reply(status, body));
    const error = await failureOf(ask());
    expect(error.failureClass).toBe(expected);
    expect(error.message).toMatch(/^model tiny at http:\/\/127\.0\.0\.1:\d+\/v1: .+/);
    expect(error.message).not.toContain('sk-hidden');
    expect(error.message).not.toContain('\n');
  });

  it('carries the delay that it asks for, in seconds, milliseconds or as a date', async () => {
    server.use(reply(429, say('slow down'), { 'retry-after': '7' }));
    expect((await failureOf(ask())).retryAfterMs).toBe(7_000);
    server.use(reply(429, say('slow down'), { 'retry-after': '7', 'retry-after-ms': '1500' }));
    expect((await failureOf(ask())).retryAfterMs).toBe(1_500);
    server.use(reply(503, '', { 'retry-after': new Date(Date.now() + 20_000).toUTCString() }));
    const { retryAfterMs } = await failureOf(ask());
    expect(retryAfterMs).toBeGreaterThan(15_000);
    expect(retryAfterMs).toBeLessThanOrEqual(20_000);
    server.use(reply(429, say('slow down'), { 'retry-after': 'soon' }));
    expect((await failureOf(ask())).retryAfterMs).toBeNull();
  });

  it('is bounded in what it quotes', async () => {
    server.use(reply(500, 'x'.repeat(1_000_000)));
    expect((await failureOf(ask())).message.length).toBeLessThan(700);
  });
});

describe('C64 an overflow of the context', () => {
  it.each([[400], [413], [422], [500]])(
    'is an answer under status %i, whatever its words',
    async (status) => {
      server.use(
        reply(
          status,
          say(
            "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.",
          ),
        ),
      );
      expect(await ask()).toMatchObject({
        kind: 'overflow',
        text: expect.stringContaining('4096') as string,
        completionIds: null,
      });
    },
  );

  it('inside a stream is an answer too', async () => {
    server.use(
      stream(event({ error: { message: 'the request exceeds the available context size', code: 400 } })),
    );
    expect((await ask()).kind).toBe('overflow');
  });

  it('is a fault of the settings where maxTokens alone is as long as the context', async () => {
    server.use(
      reply(
        400,
        say(
          "'max_tokens' is too large: 512. This model's maximum context length is 512 tokens and your request has 5 input tokens (512 > 512 - 5).",
        ),
      ),
    );
    const error = await failureOf(ask());
    expect(error.failureClass).toBe('ConfigInvalid');
    expect(error.message).toContain('maxTokens 512');
  });
});

describe('a broken stream', () => {
  it.each<[string, ReturnType<typeof stream>]>([
    ['cut in the middle of a reply', stream(chunk({ content: 'par' }), null)],
    ['cut before anything came', stream(null)],
    ['cut in the middle of a line', stream('data: {"choices":[{"index":0,"del', null)],
    ['ended without finish_reason and [DONE]', stream(chunk({ content: 'par' }))],
    ['ended by [DONE] without a token', stream(chunk({ content: '' }), done)],
    ['with a chunk that is no JSON', stream('data: {oops}\n\n', done)],
    ['with a chunk of another shape', stream(event({ choices: 'none' }), done)],
    ['with bytes that are no UTF-8', stream(Uint8Array.of(0x64, 0xff, 0xfe, 0x0a))],
    [
      'given up by the server',
      stream(chunk({ content: 'a' }), chunk({ content: '', finish: 'abort' }), done),
    ],
    [
      'with an error object',
      stream(chunk({ content: 'a' }), event({ error: { message: 'oh no', type: 'x' } }), done),
    ],
  ])('%s is StreamBroken and gives nothing partial', async (_, script) => {
    server.use(script);
    expect((await failureOf(ask())).failureClass).toBe('StreamBroken');
  });

  it('with an error beside an empty list of choices is broken all the same', async () => {
    server.use(stream(chunk({ content: 'a' }), event({ choices: [], error: { message: 'lost' } }), done));
    expect((await failureOf(ask())).message).toContain('an error inside the stream: lost');
  });

  it('with an error object whose code is a status is classed by it', async () => {
    server.use(
      stream(chunk({ content: 'a' }), event({ error: { message: 'EngineDeadError', code: 500 } }), done),
    );
    expect((await failureOf(ask())).failureClass).toBe('ModelUnavailable');
  });
});

describe('a silent server', () => {
  it('that never answers is ModelUnavailable, and the line says what was waited for', async () => {
    server.use(() => undefined);
    const error = await failureOf(ask());
    expect(error.failureClass).toBe('ModelUnavailable');
    expect(error.message).toContain('the first token did not come within 2 s');
  });

  it('that stalls in the middle is ModelUnavailable, though it sends comments', async () => {
    server.use(
      stream(chunk({ content: 'a' }), ...Array.from({ length: 40 }, () => [60, ': ping\n\n']).flat()),
    );
    const error = await failureOf(ask());
    expect(error.failureClass).toBe('ModelUnavailable');
    expect(error.message).toContain('the next token');
  });

  it('that is slow, but goes on, is waited for', async () => {
    server.use(
      stream(
        ...Array.from({ length: 7 }, () => [200, chunk({ content: 'a' })]).flat(),
        chunk({ content: '', finish: 'stop' }),
        done,
      ),
    );
    expect(await ask()).toMatchObject({ text: 'aaaaaaa' });
  });

  it('that is not there is ModelUnavailable with one clear line', async () => {
    const dead = clientOf(await deadUrl());
    const error = await failureOf(dead.ask({ messages: [], sessionId: 's', attempt: 1 }));
    expect(error.failureClass).toBe('ModelUnavailable');
    expect(error.message).toMatch(/connection refused \(ECONNREFUSED\)$/);
    await dead.close();
  });
});

describe('a probe', () => {
  it('gives the context length of a model that is served', async () => {
    server.use(reply(200, JSON.stringify({ object: 'list', data: [{ id: 'tiny', max_model_len: 4096 }] })));
    expect(await client.probe()).toStrictEqual({
      contextTokens: 4096,
      serving: { root: null, parent: null, contextTokens: 4096, serverVersion: null },
    });
    expect(server.seen.slice(-2).map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v1/models',
      'GET /version',
    ]);
  });

  it('names what is served where the model is not', async () => {
    server.use(reply(200, JSON.stringify({ data: [{ id: 'other' }] })));
    const error = await failureOf(client.probe());
    expect(error.failureClass).toBe('ModelNotFound');
    expect(error.message).toContain('it serves other');
  });

  it.each<[number, string, FailureClass]>([
    [401, say('no'), 'Forbidden'],
    [503, '', 'ModelUnavailable'],
    [200, '<html>', 'ConfigInvalid'],
    [404, '{"detail":"Not Found"}', 'ConfigInvalid'],
  ])('answered %i %s is classed', async (status, body, expected) => {
    server.use(reply(status, body));
    expect((await failureOf(client.probe())).failureClass).toBe(expected);
  });

  it('of a server that never answers ends in time', async () => {
    server.use(() => undefined);
    const error = await failureOf(client.probe());
    expect(error.failureClass).toBe('ModelUnavailable');
    expect(error.message).toContain('no answer within');
  });
});
