// The server over real HTTP: vLLM's shapes, exact ids, clear errors, and faults where a test asks for them.
import { afterEach, describe, expect, it } from 'vitest';
import { startKnownRateServer, type KnownRateOptions } from '../../instruments/known-rate/server.ts';
import { decode, endToken, renderChat } from '../../instruments/known-rate/tokens.ts';
import { nearTask, plainTask, stepsTask } from './known-data.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function start(options: Partial<KnownRateOptions> = {}): Promise<string> {
  const tasks = [plainTask, nearTask, stepsTask];
  const server = await startKnownRateServer({
    tasks,
    seed: 1,
    models: ['known-rate-0.5', 'known-rate-1'],
    ...options,
  });
  closers.push(server.close);
  return server.url;
}

const model = 'known-rate-1';
const messages = [{ role: 'user' as const, content: 'Solve it: héllo' }];
const session = 'sweep/plain/known-rate-1/terminus-2/1/1/main';

function post(url: string, body: object, header: string | null = session, path = '/chat/completions') {
  return fetch(`${url}${path}`, {
    method: 'POST',
    headers: header === null ? {} : { 'x-session-id': header },
    body: JSON.stringify({ model, messages, ...body }),
  });
}

interface Choice {
  readonly delta?: { readonly content?: string; readonly reasoning_content?: string };
  readonly text?: string;
  readonly message?: { readonly content: string; readonly reasoning_content?: string };
  readonly token_ids?: number[];
  readonly prompt_token_ids?: number[];
  readonly prompt_logprobs?: (Record<string, { readonly logprob: number }> | null)[];
  readonly finish_reason: string | null;
  readonly logprobs: { readonly content: { readonly logprob: number; readonly bytes: number[] }[] } | null;
}
interface Answer {
  readonly choices: Choice[];
  readonly prompt_token_ids?: number[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

const whole = async (response: Response): Promise<Answer> => (await response.json()) as Answer;

async function chunks(response: Response): Promise<Answer[]> {
  const events = (await response.text()).trimEnd().split('\n\n');
  expect(events.at(-1)).toBe('data: [DONE]');
  return events.slice(0, -1).map((event) => JSON.parse(event.replace(/^data: /, '')) as Answer);
}

const errorOf = async (response: Response): Promise<[number, string]> => {
  const { error } = (await response.json()) as { error: { message: string; code: number } };
  expect(error.code).toBe(response.status);
  return [response.status, error.message];
};

describe('a reply', () => {
  it('says the same streamed and whole, with the same exact ids', async () => {
    const url = await start();
    const asked = { return_token_ids: true, logprobs: true };
    const one = await whole(await post(url, asked));
    const many = await chunks(
      await post(url, { ...asked, stream: true, stream_options: { include_usage: true } }),
    );
    const text = one.choices[0]?.message?.content ?? '';
    expect(many.flatMap(({ choices }) => choices.map(({ delta }) => delta?.content)).join('')).toBe(text);
    expect(JSON.parse(text)).toMatchObject({ commands: [{ keystrokes: 'pwd; ls -la\n' }] });

    const ids = one.choices[0]?.token_ids ?? [];
    expect(many.flatMap(({ choices }) => choices.flatMap(({ token_ids }) => token_ids ?? []))).toEqual(ids);
    expect(decode(ids)).toBe(text);
    expect(ids.at(-1)).toBe(endToken);
    expect(one.prompt_token_ids).toEqual(renderChat(messages));
    expect(many[0]?.prompt_token_ids).toEqual(renderChat(messages));
    expect(many.slice(1).some((chunk) => 'prompt_token_ids' in chunk)).toBe(false);

    const logprobs = many.flatMap(({ choices }) =>
      choices.flatMap((choice) => choice.logprobs?.content ?? []),
    );
    expect(logprobs).toEqual(one.choices[0]?.logprobs?.content);
    expect(logprobs).toHaveLength(ids.length);
    const usage = { prompt_tokens: renderChat(messages).length, completion_tokens: ids.length };
    expect(many.at(-1)).toMatchObject({ choices: [], usage });
    expect(one.usage).toMatchObject(usage);
  });

  it('sends neither usage nor ids nor logprobs that were not asked for', async () => {
    const many = await chunks(await post(await start(), { stream: true }));
    expect(many.every((chunk) => !('usage' in chunk) && !('prompt_token_ids' in chunk))).toBe(true);
    const choices = many.flatMap((chunk) => chunk.choices);
    expect(choices.every((choice) => choice.logprobs === null && !('token_ids' in choice))).toBe(true);
    expect(choices.map(({ finish_reason }) => finish_reason).filter((reason) => reason !== null)).toEqual([
      'stop',
    ]);
  });

  it('is cut at max_tokens with finish_reason length, whatever character that is in', async () => {
    const url = await start();
    const cut = await whole(await post(url, { max_tokens: 4, return_token_ids: true }));
    expect(cut.choices[0]).toMatchObject({ finish_reason: 'length' });
    expect(cut.choices[0]?.token_ids).toHaveLength(4);
  });

  it('is the same from a server that was started anew, for every generation', async () => {
    const ask = async (url: string, generation: number): Promise<string | undefined> => {
      const header = `sweep/steps/known-rate-1/terminus-2/4/${generation}/two`;
      const history = [...messages, { role: 'assistant', content: '?' }, { role: 'user', content: 'go on' }];
      return (await whole(await post(url, { messages: history }, header))).choices[0]?.message?.content;
    };
    const first = await ask(await start(), 1);
    expect(first).toContain('solve.sh');
    expect(await ask(await start(), 2)).toBe(first);
  });

  it('answers a prompt given as ids as it answers the chat that they are', async () => {
    const url = await start();
    const chat = await whole(await post(url, {}));
    const prompt = renderChat(messages);
    const asked = { prompt, return_token_ids: true, max_tokens: 1_000 };
    const plain = await whole(await post(url, asked, session, '/completions'));
    expect(plain.choices[0]?.text).toBe(chat.choices[0]?.message?.content);
    expect(plain.choices[0]?.prompt_token_ids).toEqual(prompt);
    const streamed = await chunks(await post(url, { ...asked, stream: true }, session, '/completions'));
    expect(streamed[0]?.choices[0]?.prompt_token_ids).toEqual(prompt);
    expect(streamed.flatMap(({ choices }) => choices.map(({ text }) => text)).join('')).toBe(
      plain.choices[0]?.text,
    );
  });

  it('cuts a plain completion at 16 tokens where it names no max_tokens, as vLLM does', async () => {
    const asked = { prompt: renderChat(messages), return_token_ids: true };
    const plain = await whole(await post(await start(), asked, session, '/completions'));
    expect(plain.choices[0]?.token_ids).toHaveLength(16);
    expect(plain.choices[0]?.finish_reason).toBe('length');
  });

  it('tells the logprobs of a prompt’s own ids, of whatever trial they are', async () => {
    const prompt = renderChat(messages);
    const asked = { prompt, prompt_logprobs: 0, max_tokens: 1 };
    const { choices } = await whole(await post(await start(), asked, null, '/completions'));
    const told = choices[0]?.prompt_logprobs ?? [];
    expect(told).toHaveLength(prompt.length);
    expect(told[0]).toBeNull();
    expect(told.slice(1).map((entry) => Object.keys(entry ?? {}))).toEqual(
      prompt.slice(1).map((id) => [String(id)]),
    );
  });

  it('refuses ids that it has no tokens for', async () => {
    const response = await post(await start(), { prompt: [1, 999_999] }, session, '/completions');
    expect(await errorOf(response)).toEqual([400, 'Token id 999999 is out of vocabulary']);
  });

  it('gives the ids of a chat, with and without the opening of a reply', async () => {
    const url = (await start()).replace(/\/v1$/, '');
    const tokenize = async (body: object): Promise<unknown> =>
      (await post(url, body, null, '/tokenize')).json();
    expect(await tokenize({})).toEqual({
      count: renderChat(messages).length,
      max_model_len: 262_144,
      tokens: renderChat(messages),
      token_strs: null,
    });
    expect(await tokenize({ add_generation_prompt: false })).toMatchObject({
      tokens: renderChat(messages).slice(0, -1),
    });
    expect(await errorOf(await post(url, { model: 'none' }, null, '/tokenize'))).toEqual([
      404,
      'The model `none` does not exist.',
    ]);
  });

  it('thinks before it speaks where it was started so: apart in a chat, in the text of a completion', async () => {
    const url = await start({ thinking: true });
    const asked = { return_token_ids: true, max_tokens: 1_000 };
    const one = await whole(await post(url, asked));
    const thought = one.choices[0]?.message?.reasoning_content ?? '';
    expect(thought).toMatch(/^This is turn 1\./);
    const many = await chunks(await post(url, { ...asked, stream: true }));
    const deltas = many.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    expect(deltas.map((delta) => delta?.reasoning_content ?? '').join('')).toBe(thought);
    expect(deltas.map((delta) => delta?.content ?? '').join('')).toBe(one.choices[0]?.message?.content);
    const prompt = renderChat(messages);
    const plain = await whole(await post(url, { ...asked, prompt }, session, '/completions'));
    expect(plain.choices[0]?.token_ids).toEqual(one.choices[0]?.token_ids);
    expect(plain.choices[0]?.text).toBe(
      `<think>\n${thought}\n</think>\n\n${one.choices[0]?.message?.content ?? ''}`,
    );
  });

  it('keeps to the pace that was asked for', async () => {
    const url = await start({ tokensPerSecond: 400, latencyMs: 50 });
    const from = performance.now();
    const many = await chunks(await post(url, { stream: true, return_token_ids: true }));
    const tokens = many.flatMap(({ choices }) => choices.flatMap(({ token_ids }) => token_ids ?? [])).length;
    expect(performance.now() - from).toBeGreaterThan(50 + (tokens / 400) * 1000 * 0.9);
  });
});

describe('a request that cannot be answered', () => {
  it.each([
    [null, 'X-Session-ID is missing'],
    ['sweep/plain/m/s/1', 'is not SWEEP/TASK'],
    [
      'sweep/other/known-rate-1/terminus-2/1/1/main',
      "the task 'other', which this server was not started with",
    ],
    ['sweep/steps/known-rate-1/terminus-2/1/1/four', "'steps' has one, two, three"],
  ])('gets 400 for the session %j, and why', async (header, why) => {
    expect(await errorOf(await post(await start(), {}, header))).toEqual([400, expect.stringContaining(why)]);
  });

  it('gets 404 for a model that is not served', async () => {
    expect(await errorOf(await post(await start(), { model: 'known-rate-0.3' }))).toEqual([
      404,
      'The model `known-rate-0.3` does not exist.',
    ]);
  });

  it('gets 400 for a body that is no JSON, no chat, or asks for several replies', async () => {
    const url = await start();
    const headers = { 'x-session-id': session };
    const broken = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body: '{' });
    expect(await errorOf(broken)).toEqual([400, expect.stringContaining('not JSON')]);
    expect(await errorOf(await post(url, { messages: [] }))).toEqual([
      400,
      expect.stringContaining('messages'),
    ]);
    expect(await errorOf(await post(url, { n: 2 }))).toEqual([400, expect.stringContaining('n')]);
  });

  it('gets vLLM’s overflow message for a prompt above the context', async () => {
    const [status, message] = await errorOf(await post(await start({ maxModelLen: 8 }), {}));
    expect([status, message]).toEqual([400, expect.stringContaining('maximum context length is 8 tokens')]);
  });

  it('gets 404 on a route that is not there', async () => {
    expect((await fetch(`${await start()}/embeddings`)).status).toBe(404);
  });
});

describe('a way of failing that is chosen', () => {
  const secondSaid = async (url: string, sweep: string, attempt: number): Promise<string> => {
    const header = `${sweep}/plain/known-rate-0/terminus-2/${attempt}/1/main`;
    const first = await whole(await post(url, { model: 'known-rate-0' }, header));
    const said = { role: 'assistant', content: first.choices[0]?.message?.content ?? '' };
    const asked = [...messages, said, { role: 'user', content: '$' }];
    const second = await whole(await post(url, { model: 'known-rate-0', messages: asked }, header));
    return second.choices[0]?.message?.content ?? '';
  };

  it('is taken by the trials that it is chosen for, and by no others', async () => {
    const url = await start({
      models: ['known-rate-0'],
      chooseWay: (sweep, { attempt }) => (sweep === 'mine' && attempt === 2 ? 'fills-disk' : null),
    });
    expect(await secondSaid(url, 'mine', 2)).toContain('head -c 300M');
    expect(await secondSaid(url, 'mine', 1)).not.toContain('head -c');
    expect(await secondSaid(url, 'theirs', 2)).not.toContain('head -c');
  });
});

describe('faults that a test asks for', () => {
  it('answers a status with its delay, and the next request as ever', async () => {
    const url = await start({
      faults: ({ arrival }) => (arrival === 0 ? { kind: 'status', status: 503, retryAfterSec: 2 } : null),
    });
    const refused = await post(url, {});
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    expect((await post(url, {})).status).toBe(200);
  });

  it('cuts a stream in the middle, and knows call and session', async () => {
    const seen: unknown[] = [];
    const url = await start({
      faults: ({ call, session }) => {
        const task = session?.task;
        seen.push([call, task]);
        return { kind: 'cut', afterChunks: 1 };
      },
    });
    const response = await post(url, { stream: true });
    await expect(response.text()).rejects.toThrow();
    expect(seen).toEqual([[0, 'plain']]);
  });

  it('hangs until the client goes away', async () => {
    const url = await start({ faults: () => ({ kind: 'hang' }) });
    const hanging = fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { 'x-session-id': session },
      body: JSON.stringify({ model, messages }),
      signal: AbortSignal.timeout(150),
    });
    await expect(hanging).rejects.toThrow(/timeout|aborted/i);
  });
});

describe('what the server tells of itself', () => {
  it('lists its models and is healthy', async () => {
    const url = await start();
    const { data } = (await (await fetch(`${url}/models`)).json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toEqual(['known-rate-0.5', 'known-rate-1']);
    expect((await fetch(new URL('/health', url))).status).toBe(200);
  });

  it('gives the intents, as many attempts as are asked for', async () => {
    const url = await start({ seed: 9 });
    const ask = async (
      query: string,
    ): Promise<{ seed: number; intents: { solve: boolean; way: string | null }[] }> =>
      (await (await fetch(new URL(`/intents${query}`, url))).json()) as never;
    expect((await ask('')).intents).toHaveLength(3 * 2 * 8);
    const { seed, intents } = await ask('?model=known-rate-0.5&attempts=30');
    expect(seed).toBe(9);
    expect(intents).toHaveLength(90);
    expect(intents.every(({ solve, way }) => solve === (way === null))).toBe(true);
    expect((await fetch(new URL('/intents?attempts=0', url))).status).toBe(400);
    expect((await fetch(new URL('/intents?model=x', url))).status).toBe(400);
  });

  it('refuses to start with a model that has no known rate', async () => {
    await expect(start({ models: ['llama'] })).rejects.toThrow('model llama: a known-rate model is named');
  });
});
