// A container engine for unit tests: answers its API as a test says, over a real socket.
import { createServer } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEndpoint, type Endpoint } from '../../sandbox/engine/endpoint.ts';

export interface EngineAnswer {
  readonly status: number;
  /** Sent as JSON, a string as it is. */
  readonly body?: unknown;
  /** The connection breaks where the answer ends. */
  readonly broken?: boolean;
}

/** `POST /containers/x/start`, without the version; undefined: the engine has nothing of that name (404). */
export type EngineScript = (call: string) => EngineAnswer | undefined;

export interface ScriptedEngine {
  readonly endpoint: Endpoint;
  /** What was asked, in order. */
  readonly asked: string[];
  close(): Promise<void>;
}

/** A call that asks for the raw stream (an attached exec) gets one that ends at once, where its status is 101. */
export async function scriptedEngine(script: EngineScript): Promise<ScriptedEngine> {
  const dir = await mkdtemp(join(tmpdir(), 'passband-scripted-'));
  const asked: string[] = [];
  const answerTo = (method = '', url = ''): EngineAnswer => {
    const call = `${method} ${url.replace(/^\/v[\d.]+/, '').replace(/\?.*$/, '')}`;
    asked.push(call);
    return script(call) ?? { status: 404, body: { message: `no such container: ${call}` } };
  };
  const textOf = ({ body }: EngineAnswer): string =>
    typeof body === 'string' ? body : JSON.stringify(body ?? {});
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const answer = answerTo(request.method, request.url);
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      if (answer.broken === true) response.write(textOf(answer), () => response.destroy());
      else response.end([204, 304].includes(answer.status) ? undefined : textOf(answer));
    });
  });
  server.on('upgrade', (request, socket) => {
    const answer = answerTo(request.method, request.url);
    if (answer.status === 101) {
      socket.end('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
      return;
    }
    const text = textOf(answer);
    socket.end(`HTTP/1.1 ${answer.status} no\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  });
  const path = join(dir, 'engine.sock');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    endpoint: parseEndpoint(path),
    asked,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(dir, { recursive: true, force: true });
    },
  };
}
