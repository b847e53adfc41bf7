// One exec in a pod: the WebSocket handshake with the API server, and what its refusals mean.
import type { IncomingMessage } from 'node:http';
import WebSocket from 'ws';
import { ClassifiedError } from '../domain/errors.ts';
import type { Client } from './client.ts';
import { headersOf } from './client.ts';
import { ExecStream, subprotocols } from './exec-stream.ts';
import { connectionError, NotThere, refusalOf } from './kube-errors.ts';
import { mainContainer } from './observed-pod.ts';

const handshakeTimeoutMs = 20_000;
const maxRefusalBytes = 64 * 1024;
/** Runtimes send pieces of 32 KiB. */
const maxMessageBytes = 16 * 1024 ** 2;

/** The pod's container is not there, or does not run: its end may not have been told yet. */
const notRunning =
  /container not found|container .* is not running|not created or running|cannot exec in a (stopped|deleted) |container .* (is not in running state|in .*exited state)|task .* not found|failed to load task|is not valid for pod/i;

/** The API server reached no kubelet on the pod's node: it restarts, or the node is gone. */
const noKubelet =
  /error dialing backend|dial tcp|connection refused|no route to host|i\/o timeout|proxy error|upgrade request required/i;

/** The container of the pod does not run, says its node. */
export class NotRunning extends Error {}

/** The pod's node does not answer. */
export class NodeSilent extends ClassifiedError {
  constructor(message: string) {
    super('PlatformUnavailable', message);
  }
}

/** The runtime took the exec and could not start it. */
export class ExecRefused extends Error {}

export interface ExecRequest {
  readonly command: readonly string[];
  /** Default: the sandbox's own. */
  readonly container?: string;
  /** In order of preference; default all that we speak. */
  readonly protocols?: readonly string[];
}

/**
 * Starts a command in one container of the pod. Throws NotThere (no such pod), NotRunning, NodeSilent, ExecRefused, or
 * ClassifiedError.
 */
export async function openExec(
  client: Client,
  podPath: string,
  { command, container = mainContainer, protocols = subprotocols }: ExecRequest,
): Promise<ExecStream> {
  const url = new URL(`${client.server}${podPath}/exec`);
  url.protocol = url.protocol === 'http:' ? 'ws:' : 'wss:';
  for (const word of command) url.searchParams.append('command', word);
  for (const [name, value] of Object.entries({ container, stdin: 'true', stdout: 'true' })) {
    url.searchParams.set(name, value);
  }
  url.searchParams.set('stderr', 'true');
  const credentials = await client.credentials();
  const socket = new WebSocket(url, [...protocols], {
    ...credentials,
    headers: headersOf(credentials),
    handshakeTimeout: handshakeTimeoutMs,
    perMessageDeflate: false,
    // Masks are for proxies that read along: nobody does inside TLS, and they cost a tenth of the throughput.
    ...(url.protocol === 'wss:' ? { generateMask: (mask: Buffer) => void mask.fill(0) } : {}),
    maxPayload: maxMessageBytes,
    followRedirects: false,
  });
  return new Promise((resolve, reject) => {
    socket.once('open', () => {
      socket.removeAllListeners('error');
      resolve(new ExecStream(socket));
    });
    socket.once('unexpected-response', (_request, response) => {
      refusedHandshake(response)
        .then(reject, reject)
        .finally(() => socket.terminate());
    });
    socket.on('error', (error) => reject(connectionError('an exec', null, error)));
  });
}

async function refusedHandshake(response: IncomingMessage): Promise<Error> {
  const statusCode = response.statusCode ?? 0;
  const text = await bodyOf(response);
  const error = refusalOf('an exec', { statusCode, headers: response.headers, text });
  return execRefusal(statusCode, error);
}

/** What the refusal of an exec says of the pod. */
export function execRefusal(statusCode: number, error: Error): Error {
  if (notRunning.test(error.message)) return new NotRunning(error.message);
  if (error instanceof NotThere) return error;
  if (statusCode < 500 || statusCode === 503) return error;
  if (noKubelet.test(error.message)) return new NodeSilent(error.message);
  return new ExecRefused(error.message);
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > maxRefusalBytes) break;
    }
  } catch {
    // A refusal whose words were cut off is still one.
  }
  return Buffer.concat(chunks).toString('utf8').slice(0, maxRefusalBytes);
}
