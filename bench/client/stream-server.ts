// A server of streams in vLLM's shape, at a named speed, in a process of its own: `node stream-server.ts` says its URL.
// The model's name says what is streamed: `stream-RATE-TOKENS` (tokens a second, 0: as fast as it goes), or
// `episode-TOKENS`, a chat whose every message is so many tokens, its ids each the continuation of the last prompt's.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

const BodySchema = z.looseObject({ model: z.string(), messages: z.array(z.unknown()) });

interface Streamed {
  readonly tokensPerSecond: number;
  readonly tokens: number;
  readonly promptTokens: number;
}

/** As of a vocabulary of some 250,000, and the same wherever it stands in a chat. */
const idAt = (position: number): number => 1_000 + ((position * 7_919) % 250_000);

const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const head = {
  id: 'chatcmpl-0a1b2c3d4e5f',
  object: 'chat.completion.chunk',
  created: 1_800_000_000,
  model: 'm',
};

function streamed({ model, messages }: z.infer<typeof BodySchema>): Streamed {
  const [kind, first = 0, second = 0] = model.split('-').map((part, at) => (at === 0 ? part : Number(part)));
  return kind === 'episode'
    ? { tokensPerSecond: 0, tokens: Number(first), promptTokens: messages.length * Number(first) }
    : { tokensPerSecond: Number(first), tokens: Number(second), promptTokens: 100 };
}

function chunkOf(position: number): string {
  const word = ` w${String(position % 1_000).padStart(3, '0')}`;
  const logprob = -((position % 97) + 1) / 64.7;
  const content = [{ token: word, logprob, bytes: [...Buffer.from(word)], top_logprobs: [] }];
  const choice = { index: 0, delta: { content: word }, logprobs: { content }, finish_reason: null };
  return event({ ...head, choices: [{ ...choice, token_ids: [idAt(position)] }] });
}

async function send(
  response: ServerResponse,
  { tokensPerSecond, tokens, promptTokens }: Streamed,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  const delta = { index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null };
  const ids = Array.from({ length: promptTokens }, (_, at) => idAt(at));
  response.write(event({ ...head, choices: [delta], prompt_token_ids: ids }));
  const closed = once(response, 'close');
  const started = performance.now();
  for (let sent = 0; sent < tokens && !response.destroyed;) {
    const elapsedSec = (performance.now() - started) / 1_000;
    const due =
      tokensPerSecond === 0 ? sent + 1 : Math.min(tokens, Math.floor(elapsedSec * tokensPerSecond) + 1);
    let full = false;
    for (; sent < due; sent += 1) full = !response.write(chunkOf(promptTokens + sent));
    if (tokensPerSecond > 0)
      await sleep(Math.max(1, started + (sent / tokensPerSecond) * 1_000 - performance.now()));
    else if (full) await Promise.race([once(response, 'drain'), closed]);
  }
  response.write(event({ ...head, choices: [{ index: 0, delta: { content: '' }, finish_reason: 'stop' }] }));
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: tokens,
    total_tokens: promptTokens + tokens,
  };
  response.end(`${event({ ...head, choices: [], usage })}data: [DONE]\n\n`);
}

const server = createServer((incoming, response) => {
  const parts: Buffer[] = [];
  incoming.on('data', (part: Buffer) => parts.push(part));
  incoming.on('end', () => {
    void send(response, streamed(BodySchema.parse(JSON.parse(Buffer.concat(parts).toString('utf8')))));
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
