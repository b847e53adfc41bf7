// A supervisor's side of the protocol for unit tests: answers as a test tells it, over streams in memory.
import { createHash } from 'node:crypto';
import { duplexPair, type Duplex } from 'node:stream';
import { encodeFrame } from './encode-frame.ts';
import type { SandboxFacts } from '../../sandbox/supervised/facts.ts';
import type { Link } from '../../sandbox/supervised/link.ts';
import { attach, type SupervisedSandbox } from '../../sandbox/supervised/supervised-sandbox.ts';
import type { FrameType } from '../../sandbox/protocol/frames.ts';
import { bootIdOf, ScriptedVoice } from './scripted-voice.ts';

export interface Asked {
  readonly request: Readonly<Record<string, unknown>> & { readonly op: string };
  readonly body: Buffer;
}

/** What to send back: frames, or nothing and the end of the stream. */
export type Script = (asked: Asked, stream: Duplex) => void;

/** Whose voice speaks over each stream, at either end. */
const voices = new WeakMap<Duplex, ScriptedVoice>();

function voiceOf(stream: Duplex): ScriptedVoice {
  const voice = voices.get(stream);
  if (voice === undefined) throw new Error('no scripted supervisor speaks over this stream');
  return voice;
}

/** A frame as the supervisor of this stream says it next. */
export const said = (stream: Duplex, type: FrameType, payload: Buffer = Buffer.alloc(0)): Buffer =>
  encodeFrame(type, type === 'D' ? payload : voiceOf(stream).signed(type, payload));

/** Has the supervisor of this stream hear a request that its client has not sent. */
export const overhear = (stream: Duplex, request: object): void =>
  voiceOf(stream).hears(Buffer.from(JSON.stringify(request)));

export const answer = (stream: Duplex, response: unknown): void => {
  stream.write(said(stream, 'R', Buffer.from(JSON.stringify(response))));
};

/** Sends data, its end (with `digest` in place of the right one) and an answer. */
export function answerWithStream(stream: Duplex, data: Buffer, response: unknown, digest?: string): void {
  for (let at = 0; at < data.length; at += 100_000)
    stream.write(said(stream, 'D', data.subarray(at, at + 100_000)));
  const sha256 = digest ?? createHash('sha256').update(data).digest('hex');
  stream.write(said(stream, 'E', Buffer.from(JSON.stringify({ bytes: data.length, sha256 }))));
  answer(stream, response);
}

/** The PID 1 that speaks where none is named. */
const somebody = 'boot-1';
export const scriptedBootId = bootIdOf(somebody);

export const hello = (name = somebody) => ({
  ok: true,
  protocol: 2,
  bootId: bootIdOf(name),
  uptimeMs: 1,
  env: {},
  cwd: '/',
  memoryEnds: null,
});

/** The client's end of a stream whose other end follows the script, in the voice of the PID 1 of that name. */
export function scriptedSupervisor(script: Script, name = somebody): Duplex {
  const [near, far] = duplexPair();
  const voice = new ScriptedVoice(name);
  for (const end of [near, far]) voices.set(end, voice);
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
        voice.hears(payload);
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
