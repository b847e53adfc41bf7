// Replies to prompts in ids: what is sent, what vLLM's plain completions give, and what no next prompt could extend.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createModelClient, type ModelClient } from '../../model/client.ts';
import { splitThinking } from '../../model/completions.ts';
import {
  done,
  event,
  reply,
  startScriptedServer,
  stream,
  usage,
  type ScriptedServer,
} from './scripted-server.ts';

let server: ScriptedServer;
let client: ModelClient;
beforeAll(async () => {
  server = await startScriptedServer();
  client = createModelClient({
    url: server.url,
    servedName: 'tiny',
    apiKey: null,
    sampling: { temperature: 0.5, reasoningEffort: 'low', chatTemplateKwargs: { enable_thinking: true } },
    timeouts: { firstTokenMs: 5_000, stallMs: 5_000, trailingMs: 200 },
  });
});
afterAll(async () => {
  await client.close();
  await server.close();
});

const messages = [{ role: 'user', content: 'hello' }] as const;
const tags = ['<think>', '</think>'] as const;
const ask = (thinkTags: readonly [string, string] | null = null, contextTokens = 100) =>
  client.ask({
    messages,
    sessionId: 'sweep/task/1',
    attempt: 1,
    promptIds: { ids: [1, 2, 3], contextTokens, thinkTags: thinkTags === null ? null : [...thinkTags] },
  });

interface Parts {
  readonly text: string;
  readonly ids?: readonly number[];
  readonly prompt?: readonly number[];
  readonly finish?: string;
}
/** One chunk of a plain completion as vLLM streams it. */
const chunk = ({ text, ids, prompt, finish }: Parts): string =>
  event({
    id: 'cmpl-1',
    object: 'text_completion',
    model: 'tiny',
    choices: [
      {
        index: 0,
        text,
        logprobs: {
          text_offset: [0],
          token_logprobs: (ids ?? []).map((id) => -id),
          tokens: (ids ?? []).map(() => 't'),
          top_logprobs: [],
        },
        finish_reason: finish ?? null,
        stop_reason: null,
        ...(prompt && { prompt_token_ids: prompt }),
        ...(ids && { token_ids: ids }),
      },
    ],
  });
const whole = [
  chunk({ text: '<think>', ids: [10], prompt: [1, 2, 3] }),
  chunk({ text: 'hm', ids: [11] }),
  chunk({ text: '</think>', ids: [12] }),
  chunk({ text: 'So.', ids: [13] }),
  chunk({ text: '', ids: [14], finish: 'stop' }),
  usage(3, 5),
  done,
];

describe('a prompt in ids', () => {
  it('is sent as it is, with the room that the context leaves, and without the template’s settings', async () => {
    server.use(stream(...whole));
    await ask();
    const seen = server.seen.at(-1);
    expect(seen?.path).toBe('/v1/completions');
    expect(JSON.parse(seen?.body ?? '')).toEqual({
      model: 'tiny',
      prompt: [1, 2, 3],
      max_tokens: 97,
      temperature: 0.5,
      add_special_tokens: false,
      skip_special_tokens: true,
      stream: true,
      stream_options: { include_usage: true },
      logprobs: 0,
      return_token_ids: true,
    });
    await ask(tags, 2);
    expect(JSON.parse(server.seen.at(-1)?.body ?? '')).toMatchObject({
      max_tokens: 1,
      skip_special_tokens: false,
    });
  });

  it('gets text, exact ids and logprobs of a plain completion, its thinking in the text or apart', async () => {
    server.use(stream(...whole));
    const exact = {
      promptIds: [1, 2, 3],
      completionIds: [10, 11, 12, 13, 14],
      reasoningIds: 2,
      logprobs: [-10, -11, -12, -13, -14],
      finishReason: 'stop',
    };
    expect(await ask()).toMatchObject({ ...exact, text: '<think>hm</think>So.', reasoning: null });
    expect(await ask(tags)).toMatchObject({ ...exact, text: 'So.', reasoning: 'hm' });
  });

  it('is what was sent where the server does not repeat it', async () => {
    server.use(stream(chunk({ text: 'So.', ids: [13], finish: 'stop' }), done));
    expect(await ask()).toMatchObject({ promptIds: [1, 2, 3], completionIds: [13] });
  });

  it('needs a server that gives the ids of a reply', async () => {
    server.use(stream(chunk({ text: 'So.', finish: 'stop' }), done));
    await expect(ask()).rejects.toMatchObject({
      failureClass: 'ConfigInvalid',
      message: expect.stringContaining('return_token_ids') as string,
    });
  });

  it('that does not fit is an overflow, as a chat’s', async () => {
    const message = "This model's maximum context length is 2 tokens. However, you requested 4 tokens.";
    server.use(reply(400, JSON.stringify({ error: { message, code: 400 } })));
    expect(await ask()).toMatchObject({ kind: 'overflow', promptIds: null });
  });
});

describe('the ids of a chat', () => {
  const tokenize = () => client.tokenize({ messages });

  it('are asked of the template, under the settings that a chat would have', async () => {
    server.use(
      reply(200, JSON.stringify({ count: 2, max_model_len: 4096, tokens: [5, 6], token_strs: null })),
    );
    expect(await tokenize()).toEqual({ ids: [5, 6], contextTokens: 4096 });
    const seen = server.seen.at(-1);
    expect(seen?.path).toBe('/tokenize');
    expect(JSON.parse(seen?.body ?? '')).toEqual({
      model: 'tiny',
      messages,
      add_generation_prompt: true,
      add_special_tokens: false,
      chat_template_kwargs: { reasoning_effort: 'low', enable_thinking: true },
    });
  });

  it.each([
    [404, { detail: 'Not Found' }],
    [200, { tokens: 'none' }],
  ])('need a server that has them: %i %j', async (status, body) => {
    server.use(reply(status, JSON.stringify(body)));
    await expect(tokenize()).rejects.toMatchObject({
      failureClass: 'ConfigInvalid',
      message: expect.stringMatching(/\/tokenize.*vLLM/) as string,
    });
  });

  it('fail as any request where the server is away', async () => {
    server.use(reply(503, ''));
    await expect(tokenize()).rejects.toMatchObject({ failureClass: 'ModelUnavailable' });
  });
});

it.each([
  ['<think>a</think>b', 'a', 'b'],
  ['\n<think>a</think>\n\nb', 'a', '\n\nb'],
  ['a</think>b', 'a', 'b'],
  ['<think>a', 'a', ''],
  ['b', null, 'b'],
  ['<think>a</think>b</think>', 'a', 'b</think>'],
])('%j is thinking %j before the text %j', (text, reasoning, rest) => {
  expect(splitThinking({ text, finishReason: 'stop' }, tags)).toEqual({ reasoning, text: rest });
});

it('a reply that was cut before any closing tag is thinking: the template may have opened it', () => {
  expect(splitThinking({ text: 'rm -rf', finishReason: 'length' }, tags)).toEqual({
    reasoning: 'rm -rf',
    text: '',
  });
  expect(splitThinking({ text: 'a</think>b', finishReason: 'length' }, tags)).toEqual({
    reasoning: 'a',
    text: 'b',
  });
});
