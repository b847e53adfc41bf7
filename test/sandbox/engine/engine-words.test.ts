import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { ClassifiedError } from '../../../domain/errors.ts';
import { parseEndpoint } from '../../../sandbox/engine/endpoint.ts';
import { engineCall, InTheWay, NotThere } from '../../../sandbox/engine/engine-errors.ts';
import { ExecStream } from '../../../sandbox/engine/exec-stream.ts';
import { pullFailure } from '../../../sandbox/engine/pull.ts';

describe('an engine address', () => {
  it('is a path, a unix URL or a host with a port', () => {
    expect(parseEndpoint('/run/docker.sock').options).toMatchObject({
      socketPath: '/run/docker.sock',
      host: undefined,
    });
    expect(parseEndpoint('unix:///run/x.sock').options).toMatchObject({ socketPath: '/run/x.sock' });
    expect(parseEndpoint('tcp://127.0.0.1:2375')).toMatchObject({
      host: '127.0.0.1',
      options: { host: '127.0.0.1', port: 2375, protocol: 'http' },
    });
    expect(parseEndpoint('https://engine.example').options).toMatchObject({ port: 2376, protocol: 'https' });
  });

  it.each(['docker', 'ftp://host', 'tcp://', ''])('is refused in one clear line: "%s"', (address) => {
    expect(() => parseEndpoint(address)).toThrow(/is no engine's address: give a socket's path/);
  });
});

describe('what an engine says', () => {
  const refusing = (statusCode: number | null, message: string) => {
    const error =
      statusCode === null ? new Error(message) : Object.assign(new Error(message), { statusCode });
    return engineCall('a call', () => Promise.reject(error));
  };

  it('is not there, in the way, or an engine that is not available', async () => {
    await expect(refusing(404, '(HTTP code 404) no such container - no container x ')).rejects.toThrow(
      NotThere,
    );
    await expect(refusing(500, '(HTTP code 500) server error - x: no such container ')).rejects.toThrow(
      NotThere,
    );
    await expect(refusing(409, '(HTTP code 409) conflict - name in use ')).rejects.toThrow(InTheWay);
    await expect(refusing(500, '(HTTP code 500) server error - disk full ')).rejects.toEqual(
      new ClassifiedError('PlatformUnavailable', 'container engine, a call: disk full'),
    );
    await expect(refusing(null, 'connect ENOENT /x.sock')).rejects.toMatchObject({
      failureClass: 'PlatformUnavailable',
    });
  });

  it('is the caller own reason where the caller gave up', async () => {
    const signal = AbortSignal.abort(new Error('cancelled'));
    await expect(engineCall('a call', () => Promise.reject(new Error('aborted')), signal)).rejects.toThrow(
      'cancelled',
    );
  });

  it.each([
    ['toomanyrequests: You have reached your pull rate limit', 'ImagePullTransient'],
    ['received unexpected HTTP status: 503 Service Unavailable', 'ImagePullTransient'],
    ['Get "https://r/v2/": net/http: TLS handshake timeout', 'ImagePullTransient'],
    ['manifest unknown', 'ImageMissing'],
    ['pull access denied, repository does not exist', 'ImageMissing'],
    ['dial tcp: lookup registry: no such host', 'ImageMissing'],
  ])('of a pull: "%s" is %s, with the way to bring the image (C35)', (message, failureClass) => {
    const failure = pullFailure('debian:99', message, null);
    expect(failure).toMatchObject({ failureClass });
    expect(failure.message).toMatch(/debian:99.*passband images base debian:99=DIR\|TAR\|debootstrap/);
  });
});

describe('the stream of an exec', () => {
  const frame = (channel: number, text: string): Buffer => {
    const header = Buffer.alloc(8);
    header[0] = channel;
    header.writeUInt32BE(text.length, 4);
    return Buffer.concat([header, Buffer.from(text)]);
  };

  it('is stdout alone, however it is cut, with the end of stderr kept', async () => {
    const [near, far] = duplexPair();
    const stream = new ExecStream(near);
    const whole = Buffer.concat([frame(1, 'one '), frame(2, 'warning'), frame(1, ''), frame(1, 'two')]);
    for (const byte of whole) far.write(Buffer.from([byte]));
    far.end();
    expect(await text(stream)).toBe('one two');
    expect(stream.diagnostics).toBe('warning');
  });

  it('passes on what is written and its end, and breaks as its socket does', async () => {
    const [near, far] = duplexPair();
    const stream = new ExecStream(near);
    stream.end('in');
    expect(await text(far)).toBe('in');
    const broken = once(stream, 'close');
    near.destroy();
    await broken;
    expect(stream.destroyed).toBe(true);
  });
});
