// An HTTP server between a client and an S3 server: hands requests on, refuses some, or cuts them in the middle.
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Refusal {
  readonly status: number;
  /** Code of the S3 error. */
  readonly code: string;
}

export interface ProxyRules {
  /** Answers instead of the server where it gives a refusal. */
  readonly refuse?: (request: IncomingMessage) => Refusal | null;
  /** Closes the connection after so many bytes of the request's body; null lets it be. */
  readonly cutAfterBytes?: (request: IncomingMessage) => number | null;
  /** Without one, what is not refused is answered 200 and an empty body. */
  readonly target?: string;
}

export interface Proxy {
  readonly endpoint: string;
  stop(): Promise<void>;
}

export async function startProxy(rules: ProxyRules): Promise<Proxy> {
  const server = createServer((incoming, outgoing) => answer(rules, incoming, outgoing));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function answer(rules: ProxyRules, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const refusal = rules.refuse?.(incoming) ?? null;
  if (refusal !== null || rules.target === undefined) {
    const { status, code } = refusal ?? { status: 200, code: '' };
    incoming.resume().once('end', () => {
      outgoing.writeHead(status, { 'content-type': 'application/xml' });
      outgoing.end(
        code && `<?xml version="1.0"?><Error><Code>${code}</Code><Message>by the test</Message></Error>`,
      );
    });
    return;
  }
  // The client signed its own Host header, so it goes on as it came.
  const onward = request(`${rules.target}${incoming.url ?? '/'}`, {
    method: incoming.method ?? 'GET',
    headers: incoming.headers,
    setHost: false,
  });
  onward.once('response', (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(outgoing);
  });
  onward.once('error', () => incoming.destroy());
  outgoing.once('close', () => onward.destroy());
  const limit = rules.cutAfterBytes?.(incoming) ?? null;
  let bytes = 0;
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
    if (limit !== null && bytes > limit) incoming.destroy();
  });
  incoming.pipe(onward);
}

/** What stores that know no newer checksums refuse: x-amz-checksum headers, their algorithm, and trailers. */
export function refuseChecksums(incoming: IncomingMessage): Refusal | null {
  const { headers } = incoming;
  const names = Object.keys(headers);
  const refused =
    names.some((name) => name.startsWith('x-amz-checksum-') || name === 'x-amz-sdk-checksum-algorithm') ||
    names.includes('x-amz-trailer') ||
    (headers['content-encoding'] ?? '').includes('aws-chunked') ||
    String(headers['x-amz-content-sha256']).startsWith('STREAMING-');
  return refused ? { status: 501, code: 'NotImplemented' } : null;
}
