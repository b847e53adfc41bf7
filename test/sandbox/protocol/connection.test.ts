import { duplexPair, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Connection, SupervisorError } from '../../../sandbox/protocol/connection.ts';
import { ConnectionLost, maxDataBytes } from '../../../sandbox/protocol/frames.ts';
import { encodeFrame } from '../../support/encode-frame.ts';
import {
  EmptyResponse,
  GetResponse,
  PutResponse,
  UsageResponse,
} from '../../../sandbox/protocol/responses.ts';
import {
  answer,
  answerWithStream,
  said,
  scriptedBootId,
  scriptedSupervisor,
  type Script,
} from '../../support/scripted-supervisor.ts';

const connect = (script: Script): Connection => new Connection(scriptedSupervisor(script), scriptedBootId);
const usage = { request: { op: 'usage' }, response: UsageResponse };
const get = { request: { op: 'get' }, response: GetResponse };
const got = { ok: true, entries: 1, missing: [], truncated: false, refused: [] };
const noise = Buffer.alloc(1_000_000, 'abc');

/** Gives way to timers between its chunks, as what comes from a disk does. */
const endlessBody = (): Readable =>
  Readable.from(
    (async function* () {
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve));
        yield noise.subarray(0, 1000);
      }
    })(),
  );

afterEach(() => vi.useRealTimers());

describe('a connection', () => {
  it('asks one question after another, and passes over heartbeats', async () => {
    const connection = connect(({ request }, stream) => {
      stream.write(said(stream, 'H'));
      answer(stream, { ok: true, oomKills: Number(request['n']), memoryPeakBytes: null });
    });
    for (const n of [1, 2, 3]) {
      const { response } = await connection.exchange({ ...usage, request: { op: 'usage', n } });
      expect(response).toEqual({ oomKills: n, memoryPeakBytes: null });
    }
    expect(connection.usable).toBe(true);
  });

  it('gives a refusal its kind, and goes on', async () => {
    let asked = 0;
    const connection = connect((_, stream) => {
      asked += 1;
      answer(
        stream,
        asked === 1 ? { ok: false, error: { kind: 'not-found', message: 'no user x' } } : { ok: true },
      );
    });
    const refused = connection.exchange({ request: { op: 'run' }, response: EmptyResponse });
    await expect(refused).rejects.toEqual(new SupervisorError('not-found', 'no user x'));
    await expect(
      connection.exchange({ request: { op: 'thaw' }, response: EmptyResponse }),
    ).resolves.toBeDefined();
  });

  it.each<[string, Script]>([
    ['something else than JSON', (_, stream) => stream.write(said(stream, 'R', Buffer.from('<html>')))],
    ['another shape', (_, stream) => answer(stream, { ok: true, oomKills: 'many' })],
    ['a stream nobody asked for', (_, stream) => stream.write(encodeFrame('D', Buffer.from('x')))],
    ['nothing', (_, stream) => stream.end()],
  ])('is lost where the other side answers %s', async (_, script) => {
    const connection = connect(script);
    await expect(connection.exchange(usage)).rejects.toThrow(ConnectionLost);
    expect(connection.usable).toBe(false);
  });

  it('is lost after half a minute of silence, and heartbeats are none', async () => {
    vi.useFakeTimers();
    const connection = connect((_, stream) => {
      setTimeout(() => stream.write(said(stream, 'H')), 25_000);
    });
    const asked = connection.exchange(usage).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(50_000);
    expect(connection.usable).toBe(true);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await asked).toBeInstanceOf(ConnectionLost);
  });

  it('sends a body whole with its digest, and counts it', async () => {
    const connection = connect(({ request, body }, stream) => {
      answer(stream, { ok: true, bytes: body.length, sha256: '', entries: 0, refused: [], ...request });
    });
    const exchange = { request: { op: 'put' }, response: PutResponse, body: Readable.from([noise, noise]) };
    const { response, sent } = await connection.exchange(exchange);
    expect(sent?.bytes).toBe(2_000_000);
    expect(response.bytes).toBe(2_000_000);
  });

  it('sends the small pieces of a body as few full frames', async () => {
    const [near, far] = duplexPair();
    const lengths: number[] = [];
    const wire = buffer(far);
    const pieces = Array.from({ length: 700 }, () => noise.subarray(0, 1000));
    const exchange = { request: { op: 'put' }, response: PutResponse, body: Readable.from(pieces) };
    const sending = new Connection(near, scriptedBootId).exchange(exchange);
    // The last frame is E: the far end hears all of them before the near one is closed.
    setTimeout(() => near.end(), 200);
    const heard = await wire;
    for (let at = 0; at < heard.length; at += 5 + heard.readUInt32BE(at)) {
      if (heard[at + 4] === 'D'.charCodeAt(0)) lengths.push(heard.readUInt32BE(at));
    }
    expect(lengths).toEqual([maxDataBytes, maxDataBytes, 700_000 - 2 * maxDataBytes]);
    far.end();
    await expect(sending).rejects.toThrow(ConnectionLost);
  });

  it('takes a refusal in the middle of a body as the answer', async () => {
    const endless = endlessBody();
    const stream = scriptedSupervisor(() => undefined);
    const connection = new Connection(stream, scriptedBootId);
    const refusal = { ok: false, error: { kind: 'limit', message: 'no space left' } };
    setTimeout(() => stream.push(said(stream, 'R', Buffer.from(JSON.stringify(refusal)))), 20);
    const sending = connection.exchange({ request: { op: 'put' }, response: PutResponse, body: endless });
    await expect(sending).rejects.toThrow('no space left');
    expect(connection.usable).toBe(false);
    expect(endless.destroyed).toBe(true);
  });

  it('is lost, and not the body broken, where the stream is cut while a body is sent (C12)', async () => {
    const endless = endlessBody();
    const stream = scriptedSupervisor(() => undefined);
    setTimeout(() => stream.destroy(), 20);
    const sending = new Connection(stream, scriptedBootId).exchange({
      request: { op: 'put' },
      response: PutResponse,
      body: endless,
    });
    await expect(sending).rejects.toThrow(ConnectionLost);
  });

  it('passes on the error of a body that breaks', async () => {
    const broken = Readable.from(
      (function* () {
        yield noise;
        throw new Error('disk gone');
      })(),
    );
    const connection = connect(() => undefined);
    const sending = connection.exchange({ request: { op: 'put' }, response: PutResponse, body: broken });
    await expect(sending).rejects.toThrow('disk gone');
  });

  it('gives a stream to the sink, which ends after its digest was compared', async () => {
    const connection = connect((_, stream) => answerWithStream(stream, noise, got));
    let taken = Buffer.alloc(0);
    const sink = async (stream: Readable): Promise<void> => {
      taken = await buffer(stream);
    };
    const { received } = await connection.exchange({ ...get, sink });
    expect(taken.equals(noise)).toBe(true);
    expect(received?.bytes).toBe(noise.length);
  });

  it('fails the sink where the stream is not what was sent (C12)', async () => {
    const connection = connect((_, stream) => answerWithStream(stream, noise, got, '0'.repeat(64)));
    let ended = false;
    const sink = async (stream: Readable): Promise<void> => {
      await buffer(stream);
      ended = true;
    };
    await expect(connection.exchange({ ...get, sink })).rejects.toThrow(/not those that were sent/);
    expect(ended).toBe(false);
  });

  it('throws what the sink throws, and works for one that wants only the beginning', async () => {
    const failing = connect((_, stream) => answerWithStream(stream, noise, got));
    const error = failing.exchange({ ...get, sink: () => Promise.reject(new Error('store is full')) });
    await expect(error).rejects.toThrow('store is full');
    const connection = connect((_, stream) => answerWithStream(stream, Buffer.alloc(20_000_000), got));
    const { received } = await connection.exchange({ ...get, sink: () => Promise.resolve() });
    expect(received?.bytes).toBe(20_000_000);
    expect(connection.usable).toBe(true);
  });

  it('is closed by a signal, whose reason is the error', async () => {
    const connection = connect(() => undefined);
    await expect(connection.exchange({ ...usage, signal: AbortSignal.timeout(20) })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
    expect(connection.usable).toBe(false);
  });
});
