// The client against a real server: whole streams, split anywhere, and what each must give.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createModelClient, type ModelClient } from '../../model/client.ts';
import { Secret } from '../../model/secret.ts';
import {
  chunk,
  done,
  event,
  startScriptedServer,
  stream,
  usage,
  type ScriptedServer,
} from './scripted-server.ts';

let server: ScriptedServer;
let client: ModelClient;
const messages = [{ role: 'user', content: 'hello' }] as const;
const ask = (signal?: AbortSignal) =>
  client.ask({
    messages,
    sessionId: 'sweep/task/1',
    attempt: 1,
    ...(signal === undefined ? {} : { signal }),
  });

beforeAll(async () => {
  server = await startScriptedServer();
  client = createModelClient({
    url: server.url,
    servedName: 'tiny',
    apiKey: new Secret('sk-hidden\n'),
    sampling: { temperature: 0.5, topP: 0.9, maxTokens: 64, chatTemplateKwargs: { enable_thinking: true } },
    timeouts: { firstTokenMs: 5_000, stallMs: 5_000, trailingMs: 200 },
  });
});
afterAll(async () => {
  await client.close();
  await server.close();
});

const vllm = [
  chunk({ content: '', promptIds: [1, 2, 3] }),
  chunk({ reasoning: 'think', ids: [10], logprobs: [-0.5] }),
  chunk({ content: 'hi ', ids: [11, 12], logprobs: [-0.25, -0.125] }),
  chunk({ content: 'you', ids: [13], logprobs: [0] }),
  chunk({ content: '', ids: [14], logprobs: [-1], finish: 'stop' }),
  usage(3, 5, 2),
  done,
];

describe('a whole stream', () => {
  it("gives vLLM's text, reasoning apart, exact ids, logprobs, usage and cached tokens", async () => {
    server.use(stream(...vllm));
    expect(await ask()).toMatchObject({
      kind: 'reply',
      text: 'hi you',
      reasoning: 'think',
      finishReason: 'stop',
      promptIds: [1, 2, 3],
      completionIds: [10, 11, 12, 13, 14],
      logprobs: [-0.5, -0.25, -0.125, 0, -1],
      usage: { promptTokens: 3, completionTokens: 5, cachedTokens: 2, estimated: false },
    });
  });

  it('sends the session header, the key, the sampling and all that vLLM can be asked to tell', async () => {
    server.use(stream(...vllm));
    await ask();
    const seen = server.seen.at(-1);
    expect(seen?.path).toBe('/v1/chat/completions');
    expect(seen?.headers['x-session-id']).toBe('sweep/task/1');
    expect(seen?.headers.authorization).toBe('Bearer sk-hidden');
    expect(JSON.parse(seen?.body ?? '')).toStrictEqual({
      model: 'tiny',
      messages: [{ role: 'user', content: 'hello' }],
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 64,
      chat_template_kwargs: { enable_thinking: true },
      stream: true,
      stream_options: { include_usage: true },
      logprobs: true,
      return_token_ids: true,
    });
  });

  it('hands the reasoning of an earlier reply back where the scaffold kept it', async () => {
    server.use(stream(...vllm));
    await client.ask({
      messages: [{ role: 'assistant', content: 'a', reasoning: 'r' }],
      sessionId: 's',
      attempt: 1,
    });
    expect(JSON.parse(server.seen.at(-1)?.body ?? '')).toMatchObject({
      messages: [{ role: 'assistant', content: 'a', reasoning: 'r', reasoning_content: 'r' }],
    });
  });

  it('is read the same however its bytes are split, in the middle of a character too', async () => {
    const bytes = Buffer.from(
      [chunk({ content: 'añ🙂' }), chunk({ content: '中', finish: 'stop' }), done].join(''),
    );
    for (const size of [1, 2, 3, 7]) {
      const pieces: Uint8Array[] = [];
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
      server.use(stream(...pieces));
      expect((await ask()).text).toBe('añ🙂中');
    }
  });

  it('may have comments, CRLF, no space after data:, unknown fields and no blank line at the end', async () => {
    const first = JSON.stringify({ choices: [{ index: 0, delta: { content: 'a', odd: 1 } }], odd: true });
    server.use(
      stream(
        ': ping\r\n\r\n',
        `data:${first}\r\n\r\n`,
        'event: x\nretry: 5\n',
        chunk({ content: 'b', finish: 'stop' }),
        'data: [DONE]',
      ),
    );
    expect((await ask()).text).toBe('ab');
  });

  it('joins a surrogate pair whose halves came in two chunks', async () => {
    server.use(stream(chunk({ content: '\ud83d' }), chunk({ content: '\ude42', finish: 'stop' }), done));
    expect((await ask()).text).toBe('🙂');
  });

  it('is complete by a finish reason alone, though [DONE] never comes and the connection is cut', async () => {
    server.use(stream(chunk({ content: 'x', ids: [1], finish: 'stop' }), null));
    expect(await ask()).toMatchObject({ text: 'x', usage: { completionTokens: 1, estimated: true } });
  });

  it('is complete by a finish reason though the server then holds the connection', async () => {
    server.use(stream(chunk({ content: 'x', finish: 'stop' }), 3_000));
    const before = performance.now();
    expect((await ask()).text).toBe('x');
    expect(performance.now() - before).toBeLessThan(2_000);
  });

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['eos_token', 'stop'],
    ['tool_calls', 'stop'],
    ['content_filter', 'stop'],
    ['max_tokens', 'length'],
    ['MAX_TOKENS', 'length'],
    [null, 'stop'],
  ] as const)('reads finish reason %s with [DONE] as %s', async (finish, expected) => {
    server.use(stream(chunk({ content: 'x', ids: [1] }), chunk({ content: '', finish }), done));
    expect((await ask()).finishReason).toBe(expected);
  });

  it('takes usage from the last chunk that has it, wherever it stands', async () => {
    const both = { choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] };
    server.use(
      stream(event({ ...both, usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 } }), done),
    );
    expect((await ask()).usage).toStrictEqual({
      promptTokens: 9,
      completionTokens: 4,
      cachedTokens: null,
      estimated: false,
    });
  });

  it('tells of its first token once, when it comes and not before', async () => {
    const told: number[] = [];
    const began = performance.now();
    server.use(stream(chunk({ content: '', promptIds: [1] }), 80, ...vllm));
    const onFirstToken = (): void => void told.push(performance.now() - began);
    const { times } = await client.ask({ messages, sessionId: 's', attempt: 1, onFirstToken });
    expect(told).toHaveLength(1);
    expect(told[0]).toBeGreaterThan(60);
    expect(times.firstTokenMs).toBeGreaterThan(60);
  });

  it('counts times from the request: the first token before the last, and no first where nothing was streamed', async () => {
    server.use(stream(60, chunk({ content: 'a' }), 60, chunk({ content: 'b', finish: 'stop' }), done));
    const { times } = await ask();
    expect(times.firstTokenMs).toBeGreaterThan(40);
    expect(times.lastTokenMs).toBeGreaterThan((times.firstTokenMs ?? 0) + 40);
    server.use(stream(chunk({ content: '', finish: 'stop' }), done));
    expect((await ask()).times.firstTokenMs).toBeNull();
  });
});

describe('tokens', () => {
  it('C69 are counted from the ids and marked estimated where no usage chunk comes', async () => {
    server.use(
      stream(
        chunk({ content: 'ab', ids: [5, 6], promptIds: [1, 2, 3] }),
        chunk({ ids: [7], finish: 'stop' }),
        done,
      ),
    );
    expect((await ask()).usage).toStrictEqual({
      promptTokens: 3,
      completionTokens: 3,
      cachedTokens: null,
      estimated: true,
    });
  });

  it('C69 are estimated from the text and marked so where there are no ids either', async () => {
    server.use(stream(chunk({ content: 'abcdefgh', finish: 'stop' }), done));
    const { usage: counted } = await ask();
    expect(counted).toMatchObject({ completionTokens: 2, estimated: true });
    expect(counted.promptTokens).toBeGreaterThan(0);
  });

  it('C67 are the sampled ids, though the text would be encoded by others', async () => {
    server.use(
      stream(
        chunk({ content: 'hel', ids: [17], promptIds: [1] }),
        chunk({ content: 'lo', ids: [18] }),
        chunk({ content: '', ids: [2], finish: 'stop' }),
        usage(1, 3),
        done,
      ),
    );
    expect(await ask()).toMatchObject({ text: 'hello', completionIds: [17, 18, 2] });
  });

  it('are exact ids or none: a chunk without its ids, or a count that usage contradicts, drops them all', async () => {
    server.use(stream(chunk({ content: 'a', ids: [5] }), chunk({ content: 'b', finish: 'stop' }), done));
    expect((await ask()).completionIds).toBeNull();
    server.use(stream(chunk({ content: 'a', ids: [5], finish: 'stop' }), usage(3, 2), done));
    expect((await ask()).completionIds).toBeNull();
  });

  it('have no logprobs where those do not line up with the ids', async () => {
    server.use(
      stream(chunk({ content: 'ab', ids: [5, 6], logprobs: [-1], finish: 'stop' }), usage(1, 2), done),
    );
    expect(await ask()).toMatchObject({ completionIds: [5, 6], logprobs: null });
  });
});

describe('cancellation', () => {
  it('ends the HTTP request at once and fails with the reason given', async () => {
    server.use(stream(chunk({ content: 'a' }), 10_000));
    const controller = new AbortController();
    const asked = ask(controller.signal);
    setTimeout(() => controller.abort(new Error('time is up')), 80);
    const before = performance.now();
    await expect(asked).rejects.toThrow('time is up');
    await server.aborted;
    expect(performance.now() - before).toBeLessThan(5_000);
  });

  it('before the request sends nothing', async () => {
    const count = server.seen.length;
    await expect(ask(AbortSignal.abort(new Error('never mind')))).rejects.toThrow('never mind');
    expect(server.seen).toHaveLength(count);
  });
});
