import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConnectionLost, FrameReader, maxDataBytes } from '../../../sandbox/protocol/frames.ts';
import { encodeFrame } from '../../support/encode-frame.ts';

const reading = (bytes: Uint8Array): FrameReader => {
  const stream = new PassThrough();
  stream.end(bytes);
  return new FrameReader(stream);
};

describe('frames', () => {
  it('come out as they went in, however the stream is cut into chunks', async () => {
    const payloads = fc.array(
      fc.record({ type: fc.constantFrom('D', 'E', 'H', 'R'), payload: fc.uint8Array({ maxLength: 300 }) }),
    );
    await fc.assert(
      fc.asyncProperty(payloads, fc.array(fc.nat(20)), async (frames, cuts) => {
        const whole = Buffer.concat(frames.map(({ type, payload }) => encodeFrame(type, payload)));
        const stream = new PassThrough();
        let at = 0;
        for (const cut of cuts) {
          stream.write(whole.subarray(at, at + cut));
          at += cut;
        }
        stream.end(whole.subarray(Math.min(at, whole.length)));
        const reader = new FrameReader(stream);
        for (const { type, payload } of frames) {
          expect(await reader.next()).toEqual({ type, payload: Buffer.from(payload) });
        }
        await expect(reader.next()).rejects.toThrow(ConnectionLost);
      }),
      { numRuns: 50 },
    );
  });

  it('are refused before anything is kept of them, where they claim more than is taken', async () => {
    const claim = Buffer.alloc(5);
    claim.writeUInt32BE(maxDataBytes + 1, 0);
    claim.write('D', 4);
    await expect(reading(claim).next()).rejects.toThrow(/at most/);
    claim.writeUInt32BE(0xffffffff, 0);
    claim.write('R', 4);
    await expect(reading(claim).next()).rejects.toThrow(/at most/);
  });

  it('are refused where they are none: another type, an end in the middle', async () => {
    await expect(reading(encodeFrame('Q', Buffer.from('{}'))).next()).rejects.toThrow(/not a frame/);
    await expect(reading(Buffer.from('HTTP/1.1 500 no')).next()).rejects.toThrow(ConnectionLost);
    await expect(reading(encodeFrame('D', Buffer.alloc(10)).subarray(0, 12)).next()).rejects.toThrow(/ended/);
  });
});
