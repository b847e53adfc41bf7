// Frames of the supervisor's protocol (toolbox/PROTOCOL.md) over any duplex stream, with every size bounded.
import type { Duplex, Readable } from 'node:stream';

export type FrameType = 'Q' | 'D' | 'E' | 'H' | 'R';

export interface Frame {
  readonly type: FrameType;
  readonly payload: Buffer;
}

const headerBytes = 5;
/** No payload is longer; a sandbox that claims more is cut off before anything is allocated for it. */
export const maxPayloadBytes = 64 * 1024 ** 2;
export const maxDataBytes = 256 * 1024;

/** The stream ended, broke or spoke something else: what was asked may or may not have happened. */
export class ConnectionLost extends Error {
  constructor(message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = 'ConnectionLost';
  }
}

function headerOf(type: FrameType, payloadBytes: number): Buffer {
  const header = Buffer.allocUnsafe(headerBytes);
  header.writeUInt32BE(payloadBytes, 0);
  header.write(type, 4, 'latin1');
  return header;
}

/**
 * Writes one frame, its payload in parts that nobody changes afterwards, and waits until the stream has taken it;
 * ConnectionLost where it cannot.
 */
export async function writeFrame(
  stream: Duplex,
  type: FrameType,
  ...parts: readonly Uint8Array[]
): Promise<void> {
  const payloadBytes = parts.reduce((sum, part) => sum + part.byteLength, 0);
  const pieces = [headerOf(type, payloadBytes), ...parts];
  await new Promise<void>((resolve, reject) => {
    const settle = (error?: Error | null): void => {
      if (error) reject(new ConnectionLost(`the stream took no more: ${error.message}`, { cause: error }));
      else resolve();
    };
    // Together, so that the stream sees one frame and can send it as one.
    stream.cork();
    for (const [index, piece] of pieces.entries()) {
      if (index < pieces.length - 1) stream.write(piece);
      else stream.write(piece, settle);
    }
    stream.uncork();
  });
}

const frameTypes: ReadonlySet<string> = new Set(['D', 'E', 'H', 'R']);
const isFrameType = (text: string): text is FrameType => frameTypes.has(text);

/** Takes frames off a stream one by one; what is not asked for stays in the stream (backpressure). */
export class FrameReader {
  readonly #iterator: AsyncIterator<Buffer>;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(stream: Readable) {
    this.#iterator = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** The next frame. ConnectionLost at the end of the stream, on an error, and on what is no frame of ours. */
  async next(): Promise<Frame> {
    const header = await this.#take(headerBytes);
    const length = header.readUInt32BE(0);
    const type = header.toString('latin1', 4, headerBytes);
    if (!isFrameType(type)) throw new ConnectionLost(`not a frame of the supervisor: type ${header[4] ?? 0}`);
    const limit = type === 'D' ? maxDataBytes : maxPayloadBytes;
    if (length > limit) throw new ConnectionLost(`a frame of ${length} bytes: at most ${limit} are taken`);
    return { type, payload: await this.#take(length) };
  }

  async #take(bytes: number): Promise<Buffer> {
    while (this.#bytes < bytes) {
      let result: IteratorResult<Buffer>;
      try {
        result = await this.#iterator.next();
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new ConnectionLost(`the stream broke: ${reason}`, { cause: error });
      }
      if (result.done === true) throw new ConnectionLost('the stream ended');
      this.#chunks.push(result.value);
      this.#bytes += result.value.length;
    }
    const joined =
      this.#chunks.length === 1 ? (this.#chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#chunks);
    const rest = joined.subarray(bytes);
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#bytes = rest.length;
    return joined.subarray(0, bytes);
  }
}
