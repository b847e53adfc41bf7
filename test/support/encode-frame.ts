// A frame of the supervisor's protocol as bytes, by toolbox/PROTOCOL.md and not by the code under test.
import type { FrameType } from '../../sandbox/protocol/frames.ts';

export function encodeFrame(type: FrameType, payload: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(payload.byteLength);
  return Buffer.concat([length, Buffer.from(type, 'latin1'), payload]);
}
