// An API server as a gateway before it shows it: plain calls go through, and a test answers some of them itself.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { Agent, request } from 'undici';
import { createClient, headersOf } from '../../k8s/client.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
}

export interface ApiProxy {
  readonly kubeconfig: string;
  readonly asked: readonly Asked[];
  /** Called when the API server has answered: a status to give in place of its own, or null. */
  answer: (asked: Asked) => number | null;
  close(): Promise<void>;
}

export async function startApiProxy(kubeconfig: string): Promise<ApiProxy> {
  const client = createClient({ kubeconfig }, {});
  const credentials = await client.credentials();
  const { ca, cert, key } = credentials;
  const connect = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
  const dispatcher = new Agent({ connect });
  const asked: Asked[] = [];
  const proxy = { asked, answer: (() => null) as ApiProxy['answer'] };
  const pass = async (incoming: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/' } = incoming;
    const body = await buffer(incoming);
    const headers = { ...incoming.headers };
    delete headers.host;
    delete headers.connection;
    const reply = await request(`${client.server}${url}`, {
      method: method as 'GET' | 'POST' | 'DELETE',
      headers: { ...headers, ...headersOf(credentials) },
      dispatcher,
      ...(body.length === 0 ? {} : { body }),
    });
    const one = { method, path: url.split('?')[0] ?? '' };
    asked.push(one);
    const status = proxy.answer(one);
    if (status !== null) {
      await reply.body.dump();
      answer.writeHead(status).end('<html>gateway</html>');
      return;
    }
    answer.writeHead(reply.statusCode, { 'content-type': 'application/json' });
    reply.body.pipe(answer);
  };
  const server = createServer((incoming, answer) => {
    pass(incoming, answer).catch(() => answer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const dir = await mkdtemp(join(tmpdir(), 'passband-gateway-'));
  const file = join(dir, 'kubeconfig');
  const { port } = server.address() as AddressInfo;
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'gateway', server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: 'gateway' },
  );
  await writeFile(file, config.exportConfig());
  return Object.assign(proxy, {
    kubeconfig: file,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await dispatcher.destroy();
      await client.close();
      await rm(dir, { recursive: true, force: true });
    },
  });
}
