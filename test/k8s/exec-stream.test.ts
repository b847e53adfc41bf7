// The exec subprotocol's framing, against a far end that says exactly what a test wants it to.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import WebSocket, { WebSocketServer } from 'ws';
import { channels, ExecStream, outcomeOf, subprotocols } from '../../k8s/exec-stream.ts';
import { writeFrame } from '../../sandbox/protocol/frames.ts';
import { encodeFrame } from '../support/encode-frame.ts';

const servers: WebSocketServer[] = [];
const streams: ExecStream[] = [];
afterEach(() => {
  for (const stream of streams.splice(0)) stream.on('error', () => undefined).destroy();
  for (const server of servers.splice(0)) {
    for (const client of server.clients) client.terminate();
    server.close();
  }
});

const frame = (channel: number, payload: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from([channel]), Buffer.from(payload)]);
const success = frame(channels.status, JSON.stringify({ metadata: {}, status: 'Success' }));

async function connected(
  protocol: string,
  onFar: (far: WebSocket) => void = () => undefined,
): Promise<{ stream: ExecStream; far: WebSocket }> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => protocol });
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const opened = once(server, 'connection') as Promise<[WebSocket]>;
  const near = new WebSocket(`ws://127.0.0.1:${port}`, [...subprotocols]);
  const [far] = await opened;
  onFar(far);
  await once(near, 'open');
  const stream = new ExecStream(near);
  streams.push(stream);
  return { stream, far };
}

describe.each(subprotocols)('an exec stream (%s)', (protocol) => {
  it('gives stdout as it came, keeps stderr for what it may explain, and the exit status apart', async () => {
    const { stream, far } = await connected(protocol);
    const bytes = Buffer.from([0xff, 0, 0xc1, 0x0a]);
    far.send(frame(channels.stdout, ''));
    far.send(frame(channels.stdout, bytes));
    far.send(frame(channels.stderr, 'some words\n'));
    far.send(frame(channels.stdout, bytes));
    const failed = { status: 'Failure', reason: 'NonZeroExitCode', message: 'exit code 69', details: {} };
    failed.details = { causes: [{ reason: 'ExitCode', message: '69' }] };
    far.send(frame(channels.status, JSON.stringify(failed)));
    far.close();
    expect(await buffer(stream)).toEqual(Buffer.concat([bytes, bytes]));
    expect(stream.diagnostics).toBe('some words');
    expect(stream.outcome).toEqual({ exitCode: 69, message: 'exit code 69' });
  });

  it('breaks, and does not end, where the connection ends without a status (C37)', async () => {
    const { stream, far } = await connected(protocol);
    far.send(frame(channels.stdout, 'half'));
    far.close();
    await expect(buffer(stream)).rejects.toThrow(/closed before the command ended/);
    expect(stream.outcome).toBeNull();
  });

  it('says the end of stdin where the protocol can, and nothing else where it cannot (C15)', async () => {
    const heard: Buffer[] = [];
    const { stream, far } = await connected(protocol, (socket) =>
      socket.on('message', (data: Buffer) => heard.push(data)),
    );
    stream.end('abc');
    await sleep(50);
    expect(heard[0]).toEqual(frame(channels.stdin, 'abc'));
    expect(heard.slice(1)).toEqual(protocol.startsWith('v5') ? [Buffer.from([255, 0])] : []);
    far.send(frame(channels.stdout, 'still'));
    far.send(success);
    far.close();
    expect((await buffer(stream)).toString()).toBe('still');
  });

  it('sends no message longer than 512 KiB, and all of them', async () => {
    const sizes: number[] = [];
    const { stream } = await connected(protocol, (socket) =>
      socket.on('message', (data: Buffer) => sizes.push(data.length - 1)),
    );
    const bytes = 1_000_003;
    await new Promise((resolve) => stream.write(Buffer.alloc(bytes, 'x'), resolve));
    await expect.poll(() => sizes.reduce((sum, size) => sum + size, 0)).toBe(bytes);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(512 * 1024);
  });

  it('sends at once as one message what was written as one frame', async () => {
    const heard: Buffer[] = [];
    const { stream } = await connected(protocol, (socket) =>
      socket.on('message', (data: Buffer) => heard.push(data)),
    );
    const parts = [Buffer.alloc(200_000, 'a'), Buffer.alloc(62_144, 'b')];
    await writeFrame(stream, 'D', ...parts);
    await expect.poll(() => heard).toHaveLength(1);
    const wanted = frame(channels.stdin, encodeFrame('D', Buffer.concat(parts)));
    expect(heard[0]?.equals(wanted)).toBe(true);
  });

  it('keeps the order of parts of all sizes', async () => {
    const heard: Buffer[] = [];
    const { stream } = await connected(protocol, (socket) =>
      socket.on('message', (data: Buffer) => heard.push(data)),
    );
    const sizes = [1, 0, 700_000, 5, 524_288, 524_289, 3];
    const parts = sizes.map((size, at) => Buffer.alloc(size, at + 1));
    stream.cork();
    for (const part of parts) stream.write(part);
    stream.uncork();
    const whole = Buffer.concat(parts);
    const got = (): Buffer => Buffer.concat(heard.map((message) => message.subarray(1)));
    await expect.poll(() => got().length).toBe(whole.length);
    expect(got().equals(whole)).toBe(true);
  });

  it('holds the sender back while nobody reads', async () => {
    const { stream, far } = await connected(protocol);
    const piece = frame(channels.stdout, Buffer.alloc(64 * 1024));
    for (let sent = 0; sent < 800; sent += 1) far.send(piece);
    await sleep(300);
    // 50 MB were sent; what is here is what sockets hold.
    expect(stream.readableLength).toBeLessThan(1024 ** 2);
    expect(far.bufferedAmount).toBeGreaterThan(10 * 1024 ** 2);
    far.send(success);
    far.close();
    expect(await buffer(stream)).toHaveLength(800 * 64 * 1024);
  });

  it('holds the writer back while nobody takes', async () => {
    const { stream, far } = await connected(protocol, (socket) => socket.pause());
    let written = 0;
    const chunk = Buffer.alloc(256 * 1024);
    const writing = (async () => {
      for (; written < 200; written += 1) {
        await new Promise<void>((resolve, reject) =>
          stream.write(chunk, (error) => (error instanceof Error ? reject(error) : resolve())),
        );
      }
    })();
    await sleep(300);
    expect(written).toBeLessThan(100);
    far.resume();
    await writing;
  });

  it('fails a write to a connection that is closed', async () => {
    const { stream, far } = await connected(protocol);
    stream.on('error', () => undefined);
    far.terminate();
    await new Promise((resolve) => stream.once('close', resolve));
    const error = await new Promise((resolve) => stream.write('x', resolve));
    expect(error).toBeInstanceOf(Error);
  });
});

describe('the status of an exec', () => {
  it('is an exit code, or words where there is none', () => {
    expect(outcomeOf('{"status":"Success"}')).toEqual({ exitCode: 0, message: '' });
    const refused = 'error executing command in container: no such file';
    expect(outcomeOf(JSON.stringify({ status: 'Failure', message: refused }))).toEqual({
      exitCode: null,
      message: refused,
    });
    expect(outcomeOf('no JSON').exitCode).toBeNull();
    expect(
      outcomeOf('{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"x"}]}}'),
    ).toEqual({ exitCode: null, message: '' });
  });
});
