// Several real servers of one model: where a session is asked, and what a server that cannot serve changes.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Admission } from '../../model/admission.ts';
import { readEndpoint } from '../../model/endpoint.ts';
import { preferenceOf } from '../../model/rendezvous.ts';
import { createReplicatedClient, type ReplicatedAsk, type ReplicatedClient } from '../../model/replicas.ts';
import {
  chunk,
  done,
  reply,
  startScriptedServer,
  stream,
  type Script,
  type ScriptedServer,
} from './scripted-server.ts';
import { failureOf } from '../support/failure-of.ts';

const serves = (name: string): Script => stream(chunk({ content: name, finish: 'stop' }), done);
const list = (context: number | null): string =>
  JSON.stringify({ data: [{ id: 'tiny', ...(context === null ? {} : { max_model_len: context }) }] });

let servers: ScriptedServer[];
let client: ReplicatedClient;
let changes: { readonly openMs: number | null; readonly reason: string }[];
/** Moves the circuits' clock. */
let laterMs: number;

function connect(urls: readonly string[], maximum: number | null = null): ReplicatedClient {
  return createReplicatedClient({
    urls,
    servedName: 'tiny',
    apiKey: null,
    sampling: {},
    timeouts: { firstTokenMs: 400, stallMs: 400, trailingMs: 100, probeMs: 500 },
    admissionOf: () =>
      new Admission({
        maximum,
        onCircuit: (change) => changes.push(change),
        nowMs: () => performance.now() + laterMs,
        unit: () => 1,
      }),
  });
}

beforeEach(async () => {
  laterMs = 0;
  changes = [];
  servers = await Promise.all([0, 1, 2].map(() => startScriptedServer()));
  servers.forEach((server, at) => server.use(serves(`${at}`)));
  client = connect(servers.map(({ url }) => url));
});
afterEach(async () => {
  await client.close();
  await Promise.all(servers.map((server) => server.close().catch(() => undefined)));
});

const ask = (sessionId: string, more: Partial<ReplicatedAsk> = {}) =>
  client.ask({ messages: [{ role: 'user', content: 'hi' }], sessionId, attempt: 1, ...more });
/** Sends a session and answers which server had it. */
const askedAt = async (sessionId: string): Promise<number> => Number((await ask(sessionId)).text);
const serverAt = (at: number): ScriptedServer => {
  const server = servers[at];
  if (server === undefined) throw new RangeError(`no server ${at}`);
  return server;
};

/** Of a server that is there and serves nobody, or not this model: a gateway in a rollout. */
const refusals: [string, Script, string][] = [
  ['refuses its key', reply(403, '{"error":{"message":"forbidden"}}'), 'Forbidden'],
  [
    'does not serve the model',
    reply(404, '{"error":{"message":"The model `tiny` does not exist.","code":404}}'),
    'ModelNotFound',
  ],
  ['has no such route', reply(404, '{"detail":"Not Found"}'), 'ConfigInvalid'],
];

/** Sessions whose own server that is. */
const sessionsOf = (at: number): string[] =>
  Array.from({ length: 60 }, (_, n) => `s/${n}`)
    .filter(
      (session) => preferenceOf(session, servers, ({ url }) => readEndpoint(url).shown)[0] === servers[at],
    )
    .slice(0, 8);

describe('a session', () => {
  it('keeps to one server, and sessions are spread over all of them', async () => {
    const first = await Promise.all(Array.from({ length: 30 }, (_, n) => askedAt(`s/${n}`)));
    const again = await Promise.all(Array.from({ length: 30 }, (_, n) => askedAt(`s/${n}`)));
    expect(again).toEqual(first);
    expect(new Set(first).size).toBe(3);
  });

  it.each<[string, Script]>([
    ['answers 500', reply(500, '{"error":{"message":"EngineDeadError"}}')],
    ['answers 503 while it starts', reply(503, '<html>503 Service Unavailable</html>')],
    ['hangs', () => undefined],
    ['cuts the connection', (response) => void response.socket?.destroy()],
  ])('goes to its next server in the same request where its own %s, and comes back', async (_, broken) => {
    const home = await askedAt('s');
    serverAt(home).use(broken);
    const next = await askedAt('s');
    expect(next).not.toBe(home);
    expect(await askedAt('s')).toBe(next);
    serverAt(home).use(serves(`${home}`));
    laterMs += 60_000;
    expect(await askedAt('s')).toBe(home);
  });

  it('goes to its next where its own is not there', async () => {
    const home = await askedAt('s');
    await serverAt(home).close();
    expect(await askedAt('s')).not.toBe(home);
  });

  it('stays where it is when its server asks for less: there its prefix is warm', async () => {
    const home = await askedAt('s');
    serverAt(home).use(reply(429, '{"error":{"message":"slow down"}}', { 'retry-after': '7' }));
    const error = await failureOf(ask('s'));
    expect([error.failureClass, error.retryAfterMs]).toEqual(['ModelUnavailable', 7_000]);
  });

  it('is not asked elsewhere once its reply has begun, for its time runs', async () => {
    const home = await askedAt('s');
    serverAt(home).use(stream(chunk({ content: 'par' }), null));
    const told: number[] = [];
    const error = await failureOf(ask('s', { onFirstToken: () => told.push(1) }));
    expect(error.failureClass).toBe('StreamBroken');
    expect(told).toHaveLength(1);
  });

  it.each(refusals)('goes to its next where its own alone %s, and its own is left', async (_, refusing) => {
    const home = await askedAt('s');
    serverAt(home).use(refusing);
    const next = await askedAt('s');
    expect(next).not.toBe(home);
    await Promise.all(sessionsOf(home).map((session) => ask(session)));
    expect(changes).toHaveLength(1);
    const before = serverAt(home).seen.length;
    expect(await askedAt('s')).toBe(next);
    expect(serverAt(home).seen).toHaveLength(before);
  });

  it.each(refusals)('is told what each server says where every one %s', async (_, refusing, failureClass) => {
    for (const server of servers) server.use(refusing);
    for (const probing of [false, true]) {
      const error = await failureOf(ask('s', { probing }));
      expect(error.failureClass).toBe(failureClass);
      for (const { url } of servers) expect(error.message).toContain(url);
    }
  });

  it.each(refusals)(
    'waits where one %s and the others are away: they may serve when they are back',
    async (_, refusing) => {
      const home = await askedAt('s');
      for (const server of servers) server.use(reply(500, 'no'));
      serverAt(home).use(refusing);
      for (const probing of [false, true])
        expect((await failureOf(ask('s', { probing }))).failureClass).toBe('ModelUnavailable');
    },
  );

  it.each(refusals)(
    'is refused by the only server that there is where it %s, and its circuit has no part in that',
    async (_, refusing, failureClass) => {
      const server = serverAt(0);
      client = connect([server.url]);
      server.use(refusing);
      for (let n = 0; n < 8; n += 1) {
        const error = await failureOf(ask(`s/${n}`));
        expect(error.failureClass).toBe(failureClass);
        expect(error.message).toContain(server.url);
      }
      expect(changes).toEqual([]);
    },
  );

  it('is asked nowhere else where the refusal is of what was asked', async () => {
    const home = await askedAt('s');
    const sent = servers.map(({ seen }) => seen.length);
    serverAt(home).use(reply(400, '{"error":{"message":"top_k is odd","param":"top_k"}}'));
    expect((await failureOf(ask('s'))).failureClass).toBe('ConfigInvalid');
    expect(servers.map(({ seen }, at) => seen.length - (sent[at] ?? 0)).filter((n) => n > 0)).toEqual([1]);
  });
});

describe('a server that fails again and again', () => {
  const failing = async (): Promise<number> => {
    const home = await askedAt('s');
    serverAt(home).use(reply(500, 'no'));
    for (const session of sessionsOf(home).slice(0, 5)) await ask(session);
    return home;
  };

  it('is asked nothing for a while, then by one request, and its state is told', async () => {
    const home = await failing();
    const { seen } = serverAt(home);
    const before = seen.length;
    await Promise.all([ask('s'), ask('s')]);
    expect(seen).toHaveLength(before);
    laterMs += 2_001;
    await Promise.all(Array.from({ length: 4 }, () => ask('s')));
    expect(seen).toHaveLength(before + 1);
    expect(changes.map(({ openMs }) => openMs)).toEqual([2_000, 4_000]);
    expect(changes[0]?.reason).toContain('HTTP 500');
    serverAt(home).use(serves(`${home}`));
    laterMs += 4_001;
    expect(await askedAt('s')).toBe(home);
    expect(changes.at(-1)?.openMs).toBeNull();
  });

  it('among others that do leaves none: that is ModelUnavailable at once, with the time to wait, and nothing is sent', async () => {
    for (const server of servers) server.use(reply(500, 'no'));
    for (let n = 0; n < 5; n += 1) await failureOf(ask(`s/${n}`));
    const sent = servers.map(({ seen }) => seen.length);
    const error = await failureOf(ask('s'));
    expect(error.failureClass).toBe('ModelUnavailable');
    expect(error.message).toMatch(
      /^model tiny: none of its 3 endpoints serves: .*HTTP 500: no; asked again in 2 s/,
    );
    expect(error.retryAfterMs).toBeGreaterThan(1_000);
    expect(Number.isInteger(error.retryAfterMs)).toBe(true);
    expect(servers.map(({ seen }) => seen.length)).toEqual(sent);
  });

  it('is tried all the same by a request that is to find out whether the model is back', async () => {
    for (const server of servers) server.use(reply(500, 'no'));
    for (let n = 0; n < 5; n += 1) await failureOf(ask(`s/${n}`));
    servers.forEach((server, at) => server.use(serves(`${at}`)));
    expect((await ask('probe', { probing: true })).kind).toBe('reply');
    expect(changes.at(-1)?.openMs).toBeNull();
  });

  it('and hangs keeps no such request from hearing of another that is back', async () => {
    for (const server of servers) server.use(() => undefined);
    serverAt(1).use(serves('1'));
    for (const session of ['p/1', 'p/2', 'p/3', 'p/4', 'p/5', 'p/6']) {
      const before = performance.now();
      expect((await ask(session, { probing: true })).text).toBe('1');
      expect(performance.now() - before).toBeLessThan(300);
    }
  });

  it('for one session alone is asked by all others as before: it may lie in what that one asks', async () => {
    for (const server of servers) {
      server.use((response, seen) =>
        (seen.body.includes('poison') ? reply(500, 'no') : serves('fine'))(response, seen),
      );
    }
    const poison: ReplicatedAsk['messages'] = [{ role: 'user', content: 'poison' }];
    for (let n = 0; n < 8; n += 1) await failureOf(ask('p', { messages: poison }));
    expect(changes).toEqual([]);
    expect((await ask('s')).text).toBe('fine');
  });

  it('by refusing connections is left, whoever asks', async () => {
    const home = await askedAt('s');
    await serverAt(home).close();
    for (let n = 0; n < 5; n += 1) await ask('s');
    expect(changes).toHaveLength(1);
  });

  it('is left after one request that hung', async () => {
    const home = await askedAt('s');
    serverAt(home).use(() => undefined);
    await ask('s');
    const before = performance.now();
    await ask('s');
    expect(performance.now() - before).toBeLessThan(300);
  });

  it('is let be by refusals of what was asked: those are answers', async () => {
    const home = await askedAt('s');
    serverAt(home).use(reply(400, '{"error":{"message":"messages are odd","param":"messages"}}'));
    for (let n = 0; n < 8; n += 1) await failureOf(ask('s'));
    expect(changes).toEqual([]);
  });
});

describe('a delay that a server names', () => {
  it('is kept to: the next request waits for it in the queue, which its reply tells', async () => {
    const server = serverAt(0);
    client = connect([server.url]);
    server.use(reply(429, '{}', { 'retry-after-ms': '250' }));
    await failureOf(ask('s'));
    server.use(serves('0'));
    const { times } = await ask('s');
    expect(times.queuedMs).toBeGreaterThan(150);
    expect(times.lastTokenMs).toBeLessThan(150);
  });

  it('is not waited for where it is long: that fails at once, and is not probed either', async () => {
    const server = serverAt(0);
    client = connect([server.url]);
    server.use(reply(429, '{}', { 'retry-after': '120' }));
    await failureOf(ask('s'));
    const error = await failureOf(ask('s', { probing: true }));
    expect(error.retryAfterMs).toBeGreaterThan(110_000);
    expect(server.seen).toHaveLength(1);
  });
});

describe('the most that a server gets at once', () => {
  it('is kept to, in order, and whoever waits is let go at once when it is aborted', async () => {
    const server = serverAt(0);
    client = connect([server.url], 1);
    server.use(stream(150, chunk({ content: 'x', finish: 'stop' }), done));
    const first = ask('a');
    const controller = new AbortController();
    const second = ask('b', { signal: controller.signal });
    const third = ask('c');
    controller.abort(new Error('never mind'));
    await expect(second).rejects.toThrow('never mind');
    expect((await first).times.queuedMs).toBeLessThan(50);
    const { times } = await third;
    expect(times.queuedMs).toBeGreaterThan(100);
    expect(server.seen.map(({ headers }) => headers['x-session-id'])).toEqual(['a', 'c']);
  });
});

describe('cancellation', () => {
  it.each<[string, Script]>([
    ['before its headers', () => undefined],
    ['before its first token', stream(10_000)],
    ['in the middle of a reply', stream(chunk({ content: 'a' }), 10_000)],
  ])('%s closes the connection to the server within a second', async (_, script) => {
    const home = await askedAt('s');
    serverAt(home).use(script);
    const controller = new AbortController();
    const asked = ask('s', { signal: controller.signal });
    asked.catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const before = performance.now();
    controller.abort(new Error('time is up'));
    await serverAt(home).aborted;
    expect(performance.now() - before).toBeLessThan(1_000);
    await expect(asked).rejects.toThrow('time is up');
    expect(changes).toEqual([]);
  });
});

describe('a probe', () => {
  it('asks every server, and takes the shortest context', async () => {
    [8_192, 4_096, null].forEach((context, at) => serverAt(at).use(reply(200, list(context))));
    expect(await client.probe()).toEqual({ contextTokens: 4_096, away: [] });
  });

  it('names the servers that are away where others answer', async () => {
    servers.forEach((server) => server.use(reply(200, list(null))));
    await serverAt(1).close();
    expect(await client.probe()).toEqual({
      contextTokens: null,
      away: [expect.stringMatching(`^model tiny at ${serverAt(1).url}/v1: connection refused`) as string],
    });
  });

  it('of a session asks its own server alone, and the next one where that is away', async () => {
    const asked: number[] = [];
    servers.forEach((server, at) => {
      server.use(async (response, received) => {
        if (received.path === '/v1/models') asked.push(at);
        await reply(200, list(1_000 + at))(response, received);
      });
    });
    const own = (await client.probe(undefined, 'some-session')).contextTokens ?? 0;
    expect(asked).toEqual([own - 1_000]);
    await serverAt(own - 1_000).close();
    const next = await client.probe(undefined, 'some-session');
    expect(next.contextTokens).not.toBe(own);
    expect(next.away).toEqual([]);
  });

  it.each(refusals)(
    'of a session is answered by the next one where its own %s, and refused where that is all that there is',
    async (_, refusing) => {
      servers.forEach((server) => server.use(refusing));
      expect((await failureOf(client.probe(undefined, 's'))).failureClass).not.toBe('ModelUnavailable');
      serverAt(2).use(reply(200, list(9)));
      for (const session of ['s', 't', 'u', 'v'])
        expect((await client.probe(undefined, session)).contextTokens).toBe(9);
      await expect(client.probe()).rejects.toThrow('HTTP 40');
    },
  );

  it('fails where one does not serve the model, and names it', async () => {
    servers.forEach((server) => server.use(reply(200, list(null))));
    serverAt(2).use(reply(200, JSON.stringify({ data: [{ id: 'other' }] })));
    const error = await failureOf(client.probe());
    expect(error.failureClass).toBe('ModelNotFound');
    expect(error.message).toContain(`${serverAt(2).url}/v1: not served there; it serves other`);
  });

  it('fails where none answers', async () => {
    for (const server of servers) server.use(reply(503, ''));
    expect((await failureOf(client.probe())).failureClass).toBe('ModelUnavailable');
  });
});
