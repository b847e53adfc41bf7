// The proxy over real HTTP and WebSockets: what it hands on, and each thing that a fault may do to a request.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import WebSocket, { WebSocketServer } from 'ws';
import { cutInToken } from '../../../bench/faults/event-streams.ts';
import { HttpProxy } from '../../../bench/faults/http-proxy.ts';
import type { Treatment } from '../../../bench/faults/treatment.ts';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly host: string;
  readonly body: string;
}

let server: Server;
let proxy: HttpProxy;
let seen: Seen[];
let observed: string[];
let reply: { readonly status: number; readonly body: string };

const bodyOf = async (request: IncomingMessage): Promise<string> =>
  await buffer(request).then(
    (bytes) => bytes.toString(),
    () => '(cut)',
  );

beforeEach(async () => {
  [seen, observed, reply] = [[], [], { status: 200, body: 'done' }];
  server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { method = '', url = '', headers } = request;
      seen.push({ method, url, host: headers.host ?? '', body });
      response.writeHead(reply.status, { 'x-own': 'yes' }).end(reply.body);
    });
  });
  new WebSocketServer({ server }).on('connection', (socket) => {
    socket.on('message', (data: Buffer) => socket.send(`you said ${data.toString()}`));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  proxy = await HttpProxy.start({ protocol: 'http:', host: '127.0.0.1', port }, ({ method, path }, status) =>
    observed.push(`${method} ${path} ${status}`),
  );
});

afterEach(async () => {
  await proxy.away();
  server.closeAllConnections();
  server.close();
});

const put = (body = 'what is put'): Promise<Response> =>
  fetch(`${proxy.url}/a/b?c=d`, { method: 'PUT', body });

/** What a client gets of one request that is treated so. */
async function treated(treatment: Treatment): Promise<Response | 'cut'> {
  let answer: Response | 'cut' = 'cut';
  await proxy.treating(
    () => treatment,
    async () => {
      answer = await put().catch(() => 'cut' as const);
    },
  );
  return answer;
}

describe('what no fault touches', () => {
  it('is handed on and back as it came', async () => {
    const answer = await put();
    expect([answer.status, answer.headers.get('x-own'), await answer.text()]).toEqual([200, 'yes', 'done']);
    expect(seen).toEqual([
      { method: 'PUT', url: '/a/b?c=d', host: new URL(proxy.url).host, body: 'what is put' },
    ]);
    expect(observed).toEqual(['PUT /a/b 200']);
  });

  it('goes through as a WebSocket, too', async () => {
    const socket = new WebSocket(proxy.url.replace('http', 'ws'));
    await once(socket, 'open');
    socket.send('hello');
    const [data] = (await once(socket, 'message')) as [Buffer];
    expect(data.toString()).toBe('you said hello');
    socket.terminate();
  });
});

describe('a treated request', () => {
  const answer = { status: 503, body: 'not now' };

  it('is answered without the service', async () => {
    const response = await treated({ kind: 'answer', answer, performed: false });
    expect(response).toMatchObject({ status: 503 });
    expect(seen).toEqual([]);
  });

  it('is performed, and answered otherwise', async () => {
    expect(await treated({ kind: 'answer', answer, performed: true })).toMatchObject({ status: 503 });
    expect(seen).toMatchObject([{ body: 'what is put' }]);
    expect(observed).toEqual(['PUT /a/b 200']);
  });

  it.each([
    ['nothing', []],
    ['half-the-body', [{ body: '(cut)' }]],
    ['the-deed', [{ body: 'what is put' }]],
  ] as const)('is cut after %s', async (after, known) => {
    expect(await treated({ kind: 'cut', after })).toBe('cut');
    await expect.poll(() => seen).toMatchObject(known);
  });

  it('hangs until the fault is over, and is cut then', async () => {
    let settled = false;
    let asking: Promise<unknown> = Promise.resolve();
    await proxy.treating(
      () => ({ kind: 'hang' }),
      async () => {
        asking = put()
          .catch(() => 'cut')
          .finally(() => (settled = true));
        await new Promise((resolve) => setTimeout(resolve, 100));
        expect(settled).toBe(false);
      },
    );
    expect(await asking).toBe('cut');
    expect(seen).toEqual([]);
  });

  it('has its answer changed, and cut where the change says so', async () => {
    reply = {
      status: 200,
      body: 'data: {"token_ids":[1,2]}\n\ndata: {"token_ids":[3,4]}\n\ndata: [DONE]\n\n',
    };
    const ended = await treated({ kind: 'change', through: cutInToken(2, false) });
    expect(ended === 'cut' ? '' : await ended.text()).toBe('data: {"token_ids":[1,2]}\n\ndata: {"token_');
    const cut = await treated({ kind: 'change', through: cutInToken(2, true) });
    const text = cut === 'cut' ? Promise.reject(new Error('cut')) : cut.text();
    await expect(text).rejects.toThrow();
  });

  it('is none any more once the fault is over', async () => {
    await treated({ kind: 'answer', answer, performed: false });
    expect((await put()).status).toBe(200);
  });
});

describe('a service that goes away', () => {
  it('refuses connections and cuts those that are open, and is back on its port', async () => {
    const { url } = proxy;
    const socket = new WebSocket(url.replace('http', 'ws'));
    await once(socket, 'open');
    const closed = once(socket, 'close');
    await proxy.away();
    await closed;
    await expect(put()).rejects.toThrow();
    await proxy.back();
    expect(proxy.url).toBe(url);
    expect((await put()).status).toBe(200);
  });

  it('comes back elsewhere, and nowhere else', async () => {
    const { url } = proxy;
    await proxy.away();
    await proxy.back({ elsewhere: true });
    expect(proxy.url).not.toBe(url);
    await expect(fetch(url)).rejects.toThrow();
    expect((await put()).status).toBe(200);
  });
});

it('is late with what it hands on while it is told to be', async () => {
  proxy.lagMs = 3_600_000;
  const asking = put('late').catch(() => 'cut');
  const { port } = server.address() as AddressInfo;
  await fetch(`http://127.0.0.1:${port}/direct`);
  proxy.lagMs = 0;
  await put('in time');
  expect(seen.map(({ body }) => body)).toEqual(['', 'in time']);
  await proxy.away();
  expect(await asking).toBe('cut');
});
