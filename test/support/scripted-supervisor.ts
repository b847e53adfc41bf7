// A supervisor's side of the protocol for unit tests: answers as a test tells it, over streams in memory.
import { createHash } from 'node:crypto';
import { duplexPair, type Duplex } from 'node:stream';
import { encodeFrame } from './encode-frame.ts';
import type { SandboxFacts } from '../../sandbox/supervised/facts.ts';
import type { Link } from '../../sandbox/supervised/link.ts';
import { attach, type SupervisedSandbox } from '../../sandbox/supervised/supervised-sandbox.ts';

export interface Asked {
  readonly request: Readonly<Record<string, unknown>> & { readonly op: string };
  readonly body: Buffer;
}

/** What to send back: frames, or nothing and the end of the stream. */
export type Script = (asked: Asked, stream: Duplex) => void;

export const answer = (stream: Duplex, response: unknown): void => {
  stream.write(encodeFrame('R', Buffer.from(JSON.stringify(response))));
};

/** Sends data, its end (with `digest` in place of the right one) and an answer. */
export function answerWithStream(stream: Duplex, data: Buffer, response: unknown, digest?: string): void {
  for (let at = 0; at < data.length; at += 100_000)
    stream.write(encodeFrame('D', data.subarray(at, at + 100_000)));
  const sha256 = digest ?? createHash('sha256').update(data).digest('hex');
  stream.write(encodeFrame('E', Buffer.from(JSON.stringify({ bytes: data.length, sha256 }))));
  answer(stream, response);
}

export const hello = (bootId = 'boot-1') => ({
  ok: true,
  protocol: 1,
  bootId,
  uptimeMs: 1,
  env: {},
  cwd: '/',
});

/** The client's end of a stream whose other end follows the script. */
export function scriptedSupervisor(script: Script): Duplex {
  const [near, far] = duplexPair();
  far.on('error', () => undefined);
  let input = Buffer.alloc(0);
  let request: Asked['request'] | null = null;
  let body: Buffer[] = [];
  const ask = (): void => {
    if (request === null) return;
    const asked = { request, body: Buffer.concat(body) };
    request = null;
    body = [];
    script(asked, far);
  };
  far.on('data', (chunk: Buffer) => {
    input = Buffer.concat([input, chunk]);
    for (;;) {
      if (input.length < 5) return;
      const length = input.readUInt32BE(0);
      if (input.length < 5 + length) return;
      const type = input.toString('latin1', 4, 5);
      const payload = input.subarray(5, 5 + length);
      input = input.subarray(5 + length);
      if (type === 'Q') {
        request = JSON.parse(payload.toString()) as Asked['request'];
        if (request['stream'] !== true) ask();
      } else if (type === 'D') body.push(payload);
      else if (type === 'E') ask();
    }
  });
  return near;
}

type Responses = readonly object[] | ((request: Asked['request']) => object);

/** Attaches to a living sandbox whose supervisor gives `responses` by op, in order, the last one again and again. */
export function scriptedSandbox(
  responses: Readonly<Record<string, Responses>>,
  link: Partial<Link> = {},
  facts: Partial<SandboxFacts> = {},
): { readonly attached: Promise<SupervisedSandbox>; readonly asked: Asked['request'][] } {
  const asked: Asked['request'][] = [];
  const script: Script = ({ request }, stream) => {
    const before = asked.filter(({ op }) => op === request.op).length;
    asked.push(request);
    const all = responses[request.op] ?? (request.op === 'hello' ? [hello()] : []);
    const one = typeof all === 'function' ? all(request) : all[Math.min(before, all.length - 1)];
    answer(stream, { ok: true, ...one });
  };
  const whole: Link = {
    startedAt: '2026-01-01T00:00:00Z',
    volumes: [],
    isolation: 'loopback',
    ownTargets: [],
    state: () => Promise.resolve({ kind: 'alive' }),
    diskBytes: () => Promise.resolve(null),
    openStream: () =>
      Promise.resolve({
        stream: scriptedSupervisor(script),
        ending: () => Promise.resolve({ by: 'unknown', message: '' }),
      }),
    ...link,
  };
  const image = { user: '', workdir: '/', entrypoint: [] };
  const all: SandboxFacts = { image, env: {}, network: 'deny', baseline: false, ...facts };
  const identity = { name: 'a', driver: 'engine', uid: 'u', host: 'h', imageDigest: 'd', bootId: null };
  return { attached: attach(whole, all, identity), asked };
}
