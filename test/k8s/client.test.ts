// Calls of an API server's client: tried again where that may help, ended where nobody answers, never told twice over.
import { createServer, type RequestListener } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Client, createClient } from '../../k8s/client.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function configOf(server: string): KubeConfig {
  const config = new KubeConfig();
  const user = { name: 'u', token: 'SECRET' };
  config.loadFromClusterAndUser({ name: 'c', server, skipTLSVerify: true }, user);
  return config;
}

/** Answers the n-th request (from 0) as `answers` says. */
async function clientOf(answers: (n: number, ...args: Parameters<RequestListener>) => void) {
  const asked = { count: 0, authorization: '' };
  const server = createServer((request, response) => {
    asked.authorization = request.headers.authorization ?? '';
    answers(asked.count, request, response);
    asked.count += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = new Client(configOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  closing.push(async () => {
    await client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { client, asked };
}

const call = { what: 'looking', path: '/x' };
const Answer = z.object({ a: z.number() });

describe('a call', () => {
  it('is made again after a cut and after an error of the server, as the same user', async () => {
    const { client, asked } = await clientOf((n, request, response) => {
      if (n === 0) request.socket.destroy();
      else if (n === 1) response.writeHead(500).end('{"message":"etcdserver: leader changed"}');
      else response.end('{"a":1}');
    });
    expect(await client.call(call, Answer)).toEqual({ a: 1 });
    expect(asked).toEqual({ count: 3, authorization: 'Bearer SECRET' });
  });

  it('is not made again where the server asks for more patience than it takes', async () => {
    const { client, asked } = await clientOf((_, __, response) =>
      response.writeHead(429, { 'retry-after': '30' }).end('{"message":"too many requests"}'),
    );
    await expect(client.call(call, Answer)).rejects.toMatchObject({
      failureClass: 'PlatformUnavailable',
      retryAfterMs: 30_000,
    });
    expect(asked.count).toBe(1);
  });

  it('is not made again where it was refused', async () => {
    const { client, asked } = await clientOf((_, __, response) => response.writeHead(403).end('{}'));
    await expect(client.call(call, Answer)).rejects.toMatchObject({ failureClass: 'Forbidden' });
    expect(asked.count).toBe(1);
  });

  it('ends where nobody answers, and where it is told to', async () => {
    const { client } = await clientOf(() => undefined);
    const begun = performance.now();
    await expect(client.call({ ...call, timeoutMs: 200 }, Answer)).rejects.toMatchObject({
      failureClass: 'PlatformUnavailable',
      message: 'cluster, looking: no answer for 0.2 s',
    });
    await expect(client.call({ ...call, signal: AbortSignal.timeout(200) }, Answer)).rejects.toThrow(
      /timeout/,
    );
    expect(performance.now() - begun).toBeLessThan(3_000);
  });

  it('is not believed where it is no JSON, or not as we know it', async () => {
    const { client } = await clientOf((n, _, response) => response.end(n === 0 ? '<html>' : '{"a":"x"}'));
    await expect(client.call(call, Answer)).rejects.toMatchObject({ failureClass: 'PlatformUnavailable' });
    await expect(client.call(call, Answer)).rejects.toMatchObject({ failureClass: 'Unexpected' });
  });
});

describe('the cluster of a configuration', () => {
  it('is that of its kubeconfig, or of KUBECONFIG', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'passband-client-'));
    closing.push(() => rm(dir, { recursive: true }));
    for (const name of ['one', 'two']) {
      await writeFile(join(dir, name), configOf(`http://${name}:1`).exportConfig());
    }
    const env = { KUBECONFIG: join(dir, 'two') };
    expect(createClient({ kubeconfig: join(dir, 'one') }, env).server).toBe('http://one:1');
    expect(createClient({}, env).server).toBe('http://two:1');
  });

  it('is missed in one line', () => {
    expect(() => createClient({ kubeconfig: '/none/such' }, {})).toThrow(
      /^\/none\/such: no kubeconfig that can be/,
    );
  });
});
