// npm run vllm:record: asks a real vLLM what the client asks, and writes its answers to test/fixtures/vllm for the fast tiers.
import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import { writeRecording, type Recording } from '../support/vllm-recordings.ts';
import { exchanges, longest, type Exchange } from './exchanges.ts';
import { startLocalVllm } from './local-server.ts';

/** Of a stream that is too long to keep, from each end. */
const kept = 6;
const longestStream = 200;
/** Characters of a text, or items of a list, of a request: what comes after is told by its length. */
const longestInput = 2_000;

/** From SIGTERM to SIGKILL, as test/vllm/values.yaml has it. */
const graceMs = 30_000;

type Response = Recording['response'];

async function ask(
  url: string,
  { method, path, body }: Exchange,
  onEvent: (count: number) => void = () => undefined,
): Promise<Response> {
  const response = await fetch(`${url}${path}`, {
    method,
    ...(method === 'GET'
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const contentType = response.headers.get('content-type') ?? '';
  const common = { status: response.status, contentType };
  if (!contentType.startsWith('text/event-stream')) {
    const said = await response.text();
    return { ...common, events: null, leftOut: 0, body: jsonOf(said), cut: false };
  }
  const events: string[] = [];
  const parser = createParser({
    onEvent: ({ data }) => {
      events.push(data);
      onEvent(events.length);
    },
  });
  let cut = false;
  try {
    const decoder = new TextDecoder();
    const parts = response.body as AsyncIterable<Uint8Array> | null;
    for await (const part of parts ?? []) parser.feed(decoder.decode(part, { stream: true }));
  } catch {
    cut = true;
  }
  const short = events.length > longestStream ? [...events.slice(0, kept), ...events.slice(-kept)] : events;
  return { ...common, events: short, leftOut: events.length - short.length, body: null, cut };
}

/** A request as it is kept: its long texts and lists cut. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string' && value.length > longestInput)
    return `${value.slice(0, 16)}… (${value.length} characters)`;
  if (Array.isArray(value) && value.length > longestInput)
    return [...(value.slice(0, 8) as unknown[]), `… (${value.length} items)`];
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortened(inner)]));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const server = await startLocalVllm();
/** Where the model lies is a matter of the machine: in the cluster's pods it is /models. */
const ofNoMachine = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value).replaceAll(server.installed.models, '/models')) as T;
const keep = async (name: string, vllm: string, exchange: Exchange, response: Response): Promise<void> => {
  const request = { ...exchange, body: shortened(exchange.body) };
  await writeRecording(name, ofNoMachine({ vllm, request, response }));
  process.stdout.write(`${name}: ${response.status}${response.cut ? ', cut' : ''}\n`);
};
try {
  const version = z.object({ version: z.string() });
  const { version: vllm } = version.parse(await (await fetch(`${server.url}/version`)).json());
  for (const [name, exchange] of Object.entries(exchanges))
    await keep(name, vllm, exchange, await ask(server.url, exchange));
  // As a kubelet ends a pod: what the server does not end by itself hangs, and is cut.
  const end = (count: number): void => {
    if (count !== kept) return;
    server.process.kill('SIGTERM');
    setTimeout(() => server.process.kill('SIGKILL'), graceMs);
  };
  await keep('server-ends', vllm, longest, await ask(server.url, longest, end));
} finally {
  await server.stop();
}
