// The stream of an exec: stdout taken out of the engine's multiplexed frames, stderr kept for what it may explain.
import { Duplex } from 'node:stream';

const headerBytes = 8;
const stdout = 1;
/** What is kept of stderr. */
const diagnosticBytes = 4_096;

export class ExecStream extends Duplex {
  readonly #socket: Duplex;
  #header = Buffer.alloc(0);
  #channel = 0;
  #left = 0;
  #diagnostics = '';

  constructor(socket: Duplex) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      if (!this.#demultiplex(chunk)) socket.pause();
    });
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  /** The last of what came on stderr. */
  get diagnostics(): string {
    return this.#diagnostics.trim();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#socket.cork();
    for (const { chunk } of chunks.slice(0, -1)) this.#socket.write(chunk);
    this.#socket.write(chunks.at(-1)?.chunk ?? Buffer.alloc(0), done);
    this.#socket.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  /** False where the reader has enough for now. */
  #demultiplex(chunk: Buffer): boolean {
    let wanted = true;
    let at = 0;
    while (at < chunk.length) {
      if (this.#left === 0) {
        const part = chunk.subarray(at, at + headerBytes - this.#header.length);
        this.#header = Buffer.concat([this.#header, part]);
        at += part.length;
        if (this.#header.length < headerBytes) break;
        this.#channel = this.#header[0] ?? 0;
        this.#left = this.#header.readUInt32BE(4);
        this.#header = Buffer.alloc(0);
        continue;
      }
      const part = chunk.subarray(at, at + this.#left);
      at += part.length;
      this.#left -= part.length;
      if (this.#channel === stdout) wanted = this.push(part) && wanted;
      else this.#diagnostics = (this.#diagnostics + part.toString('utf8')).slice(-diagnosticBytes);
    }
    return wanted;
  }
}
