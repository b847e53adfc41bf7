// A real HTTP server on loopback that answers each request by a script: bytes, pauses, cuts.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Script = (response: ServerResponse, seen: SeenRequest) => Promise<void> | void;

export interface ScriptedServer {
  readonly url: string;
  readonly seen: SeenRequest[];
  /** Resolves when a client has gone away before its answer ended. */
  readonly aborted: Promise<void>;
  use(script: Script): void;
  close(): Promise<void>;
}

/** Starts a server whose requests are answered by the script in use. */
export async function startScriptedServer(): Promise<ScriptedServer> {
  let script: Script = (response) => {
    response.writeHead(500).end();
  };
  const seen: SeenRequest[] = [];
  const gone = Promise.withResolvers<undefined>();
  const server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    response.on('close', () => {
      if (!response.writableEnded) gone.resolve(undefined);
    });
    incoming.on('end', () => {
      const request = {
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        headers: incoming.headers,
        body: Buffer.concat(parts).toString('utf8'),
      };
      seen.push(request);
      void script(response, request);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    seen,
    aborted: gone.promise,
    use: (next) => {
      script = next;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** An event stream of these pieces, each a write of its own; a number pauses, null cuts the connection. */
export function stream(...pieces: readonly (string | Uint8Array | number | null)[]): Script {
  return async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.flushHeaders();
    for (const piece of pieces) {
      if (piece === null) {
        await pause(20); // what was written reaches the client first
        response.destroy();
        return;
      }
      if (typeof piece === 'number') await pause(piece);
      else {
        response.write(piece);
        await pause(2);
      }
    }
    response.end();
  };
}

/** A whole answer that is no stream. */
export function reply(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Script {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  };
}

export const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
export const done = 'data: [DONE]\n\n';

interface ChunkParts {
  readonly content?: string;
  readonly reasoning?: string;
  readonly ids?: readonly number[];
  readonly logprobs?: readonly number[];
  readonly finish?: string | null;
  readonly promptIds?: readonly number[];
}

/** One chunk in vLLM's shape. */
export function chunk(parts: ChunkParts): string {
  return event({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    model: 'tiny',
    ...(parts.promptIds === undefined ? {} : { prompt_token_ids: parts.promptIds }),
    choices: [
      {
        index: 0,
        delta: {
          ...(parts.content === undefined ? {} : { content: parts.content }),
          ...(parts.reasoning === undefined ? {} : { reasoning_content: parts.reasoning }),
        },
        logprobs:
          parts.logprobs === undefined
            ? null
            : { content: parts.logprobs.map((logprob) => ({ token: 't', logprob, top_logprobs: [] })) },
        finish_reason: parts.finish ?? null,
        ...(parts.ids === undefined ? {} : { token_ids: parts.ids }),
      },
    ],
  });
}

export const usage = (prompt: number, completion: number, cached?: number): string =>
  event({
    choices: [],
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
    },
  });
