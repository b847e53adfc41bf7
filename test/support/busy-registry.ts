// A proxy before a real registry that can be busy: it answers 429 for a while, and then lets everything through.
import { once } from 'node:events';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface BusyRegistry {
  /** HOST:PORT */
  readonly address: string;
  /** Answers so many requests from now on with 429. */
  busyFor(requests: number): void;
  close(): Promise<void>;
}

/** `registry`: HOST:PORT of the real one; `host`: where this one listens. */
export async function startBusyRegistry(registry: string, host: string): Promise<BusyRegistry> {
  let busy = 0;
  const server = createServer((request, response) => {
    if (busy > 0) {
      busy -= 1;
      request.resume();
      response.writeHead(429, { 'retry-after': '7' }).end('{"errors":[{"code":"TOOMANYREQUESTS"}]}');
      return;
    }
    const { method, headers, url } = request;
    // With the caller's Host: the registry builds the addresses of uploads of it.
    const passed = forward(`http://${registry}${url ?? '/'}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    address: `${host}:${(server.address() as AddressInfo).port}`,
    busyFor: (requests) => void (busy = requests),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
