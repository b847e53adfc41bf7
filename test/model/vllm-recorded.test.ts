// The client over what a real vLLM answered (test/fixtures/vllm, written anew by `npm run vllm:record`).
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ClassifiedError } from '../../domain/errors.ts';
import type { FailureClass } from '../../domain/failures.ts';
import type { Sampling } from '../../domain/sweep.ts';
import { VersionSchema } from '../../model/chunks.ts';
import { createModelClient, type ModelClient } from '../../model/client.ts';
import { contextLengthIn } from '../../model/overflow.ts';
import { chatBody } from '../../model/request.ts';
import { readRecording, textOf, type Recording } from '../support/vllm-recordings.ts';
import { startScriptedServer, type ScriptedServer } from './scripted-server.ts';

let server: ScriptedServer;
const clients: ModelClient[] = [];

beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await server.close();
});

function clientOf(servedName = 'tiny', sampling: Sampling = {}): ModelClient {
  const timeouts = { firstTokenMs: 5_000, stallMs: 5_000, trailingMs: 200 };
  const client = createModelClient({ url: server.url, servedName, apiKey: null, sampling, timeouts });
  clients.push(client);
  return client;
}

/** The server answers as it did when it was recorded: each path its own, or all of them alike. */
function replay(first: Recording, ...others: readonly Recording[]): void {
  server.use((response, { path }) => {
    const found = others.find(({ request }) => request.path === path) ?? first;
    response.writeHead(found.response.status, { 'content-type': found.response.contentType });
    response.write(textOf(found));
    if (found.response.cut) setTimeout(() => response.destroy(), 20);
    else response.end();
  });
}

async function answerTo(name: string, sampling: Sampling = {}) {
  const recording = await readRecording(name);
  replay(recording);
  return await clientOf('tiny', sampling).ask({ messages: [], sessionId: 's', attempt: 1 });
}

const failureOf = async (promise: Promise<unknown>): Promise<ClassifiedError> => {
  const error = await promise.then(
    () => expect.fail('it did not fail'),
    (thrown: unknown) => thrown,
  );
  return error instanceof ClassifiedError ? error : expect.fail(String(error));
};

const ChunkSchema = z.looseObject({
  prompt_token_ids: z.array(z.int()).nullish(),
  choices: z.array(
    z.looseObject({
      delta: z.looseObject({ content: z.string().nullish(), reasoning: z.string().nullish() }),
      token_ids: z.array(z.int()).nullish(),
      logprobs: z.looseObject({ content: z.array(z.looseObject({ logprob: z.number() })) }).nullish(),
    }),
  ),
  usage: z.looseObject({ prompt_tokens: z.int(), completion_tokens: z.int() }).nullish(),
});

/** What the stream holds, read without the client. */
async function streamOf(name: string) {
  const { events } = (await readRecording(name)).response;
  const chunks = (events ?? [])
    .filter((data) => data !== '[DONE]')
    .map((data) => ChunkSchema.parse(JSON.parse(data)));
  const choices = chunks.flatMap((chunk) => chunk.choices);
  return {
    promptIds: chunks[0]?.prompt_token_ids ?? [],
    ids: choices.flatMap(({ token_ids: ids }) => ids ?? []),
    logprobs: choices.flatMap(({ logprobs }) => logprobs?.content.map(({ logprob }) => logprob) ?? []),
    thought: choices.map(({ delta }) => delta.reasoning ?? '').join(''),
    said: choices.map(({ delta }) => delta.content ?? '').join(''),
    usage: chunks.at(-1)?.usage ?? expect.fail(`${name} has no usage`),
  };
}

describe('a whole stream of vLLM', () => {
  it.each([
    'chat-length',
    'chat-stop',
    'chat-adapted',
    'chat-reasoning',
    'chat-reasoning-cut',
    'chat-tools-none-called',
    'chat-tools-auto',
    'chat-tools-broken',
    'chat-tools-cut',
    'chat-tools-required',
  ])('%s gives every id of prompt and reply, a logprob each, and the usage', async (name) => {
    const answer = await answerTo(name);
    const { promptIds, ids, logprobs, usage } = await streamOf(name);
    expect(answer.promptIds).toEqual(promptIds);
    expect(promptIds).toHaveLength(usage.prompt_tokens);
    expect(answer.completionIds).toEqual(ids);
    expect(ids).toHaveLength(usage.completion_tokens);
    expect(answer.logprobs).toEqual(logprobs);
    expect(logprobs).toHaveLength(ids.length);
    expect(answer.usage).toMatchObject({
      promptTokens: usage.prompt_tokens,
      completionTokens: usage.completion_tokens,
      estimated: false,
    });
    expect(answer.usage.cachedTokens).not.toBeNull();
    expect(answer.times.firstTokenMs).not.toBeNull();
  });

  it('at its length says so, and ends by itself at the mark of its end, which is an id and no text', async () => {
    expect(await answerTo('chat-length')).toMatchObject({ finishReason: 'length' });
    const stopped = await answerTo('chat-stop');
    expect(stopped).toMatchObject({ finishReason: 'stop', reasoning: null });
    expect(stopped.completionIds?.at(-1)).toBe(3);
    expect(stopped.text).not.toContain('<|im_end|>');
  });

  it('keeps thinking apart from text, and its closing mark is an id of neither', async () => {
    const { ids, thought, said } = await streamOf('chat-reasoning');
    expect(await answerTo('chat-reasoning')).toMatchObject({ reasoning: thought, text: said });
    expect([thought === '', said === '', ids.includes(5)]).toEqual([false, false, true]);
    expect(thought + said).not.toContain('</think>');
    const cut = await answerTo('chat-reasoning-cut');
    expect(cut).toMatchObject({ text: '', finishReason: 'length' });
    expect(cut.reasoning).not.toBe('');
  });

  it('gives calls whole, one after another', async () => {
    const { toolCalls, finishReason, text } = await answerTo('chat-tools-auto');
    expect(finishReason).toBe('stop');
    expect(text.trim()).toBe('');
    expect(toolCalls?.map(({ name }) => name)).toEqual(['bash', 'bash']);
    expect(toolCalls?.map((call): unknown => JSON.parse(call.arguments))).toEqual([
      { command: expect.stringMatching(/^ls 0 [a-z]{3,6}$/) as string },
      { command: expect.stringMatching(/^ls 1 [a-z]{3,6}$/) as string },
    ]);
    expect(new Set(toolCalls?.map(({ id }) => id)).size).toBe(2);
  });

  it('gives a call that is no JSON as it was written, and one that was cut as far as it came', async () => {
    const broken = await answerTo('chat-tools-broken');
    expect(broken.toolCalls).toEqual([
      {
        id: expect.any(String) as string,
        name: 'bash',
        arguments: expect.stringMatching(/^\{"command": "ls [a-z]+/) as string,
      },
    ]);
    expect(() => JSON.parse(broken.toolCalls?.[0]?.arguments ?? '') as unknown).toThrow();
    expect(await answerTo('chat-tools-cut')).toMatchObject({
      finishReason: 'length',
      toolCalls: [{ name: 'bash' }],
    });
    expect((await answerTo('chat-tools-none-called')).toolCalls).toBeUndefined();
  });

  it('is asked for by the body that the client sends now', async () => {
    const { request } = await readRecording('chat-length');
    const sampling = { temperature: 1, seed: 7, maxTokens: 48 };
    const { messages } = z
      .looseObject({ messages: z.array(z.object({ role: z.literal('user'), content: z.string() })) })
      .parse(request.body);
    expect(JSON.parse(chatBody('tiny', { messages, sampling }))).toEqual(request.body);
  });
});

describe('a stream that its server ended', () => {
  it('is broken, whatever came before', async () => {
    const recording = await readRecording('server-ends');
    replay(recording);
    const error = await failureOf(clientOf().ask({ messages: [], sessionId: 's', attempt: 1 }));
    expect(error.failureClass).toBe('StreamBroken');
  });
});

describe('what vLLM refuses', () => {
  it.each(['overflow-prompt', 'overflow-completion'])(
    'C64: %s is an overflow, and tells the context',
    async (name) => {
      const answer = await answerTo(name);
      expect(answer.kind).toBe('overflow');
      expect(contextLengthIn(answer.text)).toBe(16_384);
    },
  );

  it('has room for less than a reply may take: it is cut at the end of the context, and no overflow', async () => {
    const { response } = await readRecording('room-for-less');
    const last = z
      .looseObject({ usage: z.looseObject({ total_tokens: z.int() }) })
      .parse(JSON.parse(response.events?.at(-2) ?? ''));
    expect(last.usage.total_tokens).toBe(16_384);
    expect(await answerTo('room-for-less')).toMatchObject({ kind: 'reply', finishReason: 'length' });
  });

  it.each<[string, FailureClass]>([
    ['overflow-reply-alone', 'ConfigInvalid'],
    ['bad-temperature', 'ConfigInvalid'],
    ['bad-top-p', 'ConfigInvalid'],
    ['bad-template-kwargs', 'ConfigInvalid'],
    ['bad-message', 'Unexpected'],
    ['bad-role-order', 'Unexpected'],
    ['bad-token-id', 'Unexpected'],
    ['bad-logprobs', 'Unexpected'],
    ['unknown-model', 'ModelNotFound'],
    ['unknown-path', 'ConfigInvalid'],
  ])('%s is %s, in one line', async (name, expected) => {
    const error = await failureOf(answerTo(name));
    expect(error.failureClass).toBe(expected);
    expect(error.message).not.toContain('\n');
  });
});

describe('a probe of vLLM', () => {
  const probed = async (servedName: string) => {
    replay(await readRecording('models'), await readRecording('version'));
    return await clientOf(servedName).probe();
  };

  it('tells what is served: weights, context, version', async () => {
    const version = VersionSchema.parse((await readRecording('version')).response.body).version;
    expect(await probed('tiny')).toEqual({
      contextTokens: 16_384,
      serving: { root: '/models/tiny', parent: null, contextTokens: 16_384, serverVersion: version },
    });
  });

  it("gives an adapter its base's context, which vLLM tells at the base alone", async () => {
    expect(await probed('tiny-adapted')).toMatchObject({
      contextTokens: 16_384,
      serving: { root: '/models/tiny-lora', parent: 'tiny' },
    });
  });

  it('names those that are served where the model is not', async () => {
    const error = await failureOf(probed('other'));
    expect(error.failureClass).toBe('ModelNotFound');
    expect(error.message).toContain('it serves tiny, tiny-adapted');
  });
});

describe('earlier thoughts in a request', () => {
  const tokensOf = async (name: string): Promise<readonly number[]> =>
    z.looseObject({ tokens: z.array(z.int()) }).parse((await readRecording(name)).response.body).tokens;

  it('reach the template under the name that the client gives them, beside the one that others know', async () => {
    const without = await tokensOf('tokenize-no-reasoning');
    expect((await tokensOf('tokenize-reasoning')).length).toBeGreaterThan(without.length);
    expect(await tokensOf('tokenize-reasoning-content')).toEqual(without);
    const messages = [{ role: 'assistant', content: 'a', reasoning: 'r' }] as const;
    expect(JSON.parse(chatBody('tiny', { messages, sampling: {} }))).toMatchObject({
      messages: [{ role: 'assistant', content: 'a', reasoning: 'r', reasoning_content: 'r' }],
    });
  });
});
