// The stream of an exec: channels of the WebSocket subprotocol as one duplex, with backpressure in both directions.
import { Duplex } from 'node:stream';
import { z } from 'zod';
import type WebSocket from 'ws';

/** First byte of each message. 4 is for resizes, which are never sent: without a tty they wedge a v5 stream. */
export const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 } as const;

/** v5 knows an end of stdin; v4 is all that older API servers speak. */
export const subprotocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const;

/** What is kept of stderr. */
const diagnosticBytes = 4_096;
/** A message of ours: a whole data frame of the supervisor's fits. Runtimes of v4 hold one in memory; they take 32 MB. */
const maxMessageBytes = 512 * 1024;
const maxStatusBytes = 64 * 1024;
/** Sent and not yet taken by the network: beyond it the writer waits. */
const maxUnsentBytes = 1024 * 1024;

const ExecStatus = z.object({
  status: z.string(),
  message: z.string().optional(),
  reason: z.string().optional(),
  details: z
    .object({
      causes: z.array(z.object({ reason: z.string().optional(), message: z.string().optional() })).nullish(),
    })
    .nullish(),
});

export interface ExecOutcome {
  /** Null where the process could not be started, or its end is not known. */
  readonly exitCode: number | null;
  readonly message: string;
}

export class ExecStream extends Duplex {
  readonly #socket: WebSocket;
  #diagnostics = '';
  #outcome: ExecOutcome | null = null;

  /** `socket` is open. */
  constructor(socket: WebSocket) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    socket.on('message', (data: WebSocket.RawData) => {
      if (!this.#take(bytesOf(data))) socket.pause();
    });
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => {
      // Without a status nobody knows how the process ended: a cut, and no end of stdout.
      if (this.#outcome === null)
        this.destroy(new Error('the connection was closed before the command ended'));
      else this.push(null);
    });
  }

  /** The last of what came on stderr. */
  get diagnostics(): string {
    return this.#diagnostics.trim();
  }

  /** How the process ended, null while that is not known. */
  get outcome(): ExecOutcome | null {
    return this.#outcome;
  }

  override _read(): void {
    if (this.#socket.isPaused) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send([chunk], done);
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#send(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  override _final(done: (error?: Error | null) => void): void {
    // On v4 an end of stdin cannot be said, and the supervisor's protocol needs none.
    if (this.#socket.protocol !== subprotocols[0]) done();
    else this.#socket.send(Buffer.from([channels.close, channels.stdin]), () => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // No closing handshake: what it would wait for is what broke.
    this.#socket.terminate();
    done(error);
  }

  #send(parts: readonly Buffer[], done: (error?: Error | null) => void): void {
    const { message, rest } = messageOf(parts);
    const settle = (error?: Error | null): void => {
      if (error instanceof Error) done(error);
      else if (rest.length > 0) this.#send(rest, done);
      else done();
    };
    if (this.#socket.readyState !== this.#socket.OPEN) {
      done(new Error('the connection is closed'));
    } else if (this.#socket.bufferedAmount > maxUnsentBytes) {
      this.#socket.send(message, settle);
    } else {
      // The network has room: the next part goes out beside this one.
      this.#socket.send(message, (error) => {
        if (error instanceof Error) this.destroy(error);
      });
      settle();
    }
  }

  /** False where the reader has enough for now. */
  #take(message: Buffer): boolean {
    const payload = message.subarray(1);
    switch (message[0]) {
      case channels.stdout:
        return payload.length === 0 || this.push(payload);
      case channels.stderr:
        this.#diagnostics = (this.#diagnostics + payload.toString('utf8')).slice(-diagnosticBytes);
        return true;
      case channels.status:
        this.#outcome ??= outcomeOf(payload.toString('utf8', 0, maxStatusBytes));
        return true;
      default:
        // A v5 server closes single channels: the status, or the connection's end, follows.
        return true;
    }
  }
}

/** As much of the parts as goes into one message of stdin, and what is left of them. */
function messageOf(parts: readonly Buffer[]): { message: Buffer; rest: readonly Buffer[] } {
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  const message = Buffer.allocUnsafe(1 + Math.min(bytes, maxMessageBytes));
  message[0] = channels.stdin;
  let at = 1;
  for (const [index, part] of parts.entries()) {
    const copied = part.copy(message, at);
    at += copied;
    if (copied < part.length) return { message, rest: [part.subarray(copied), ...parts.slice(index + 1)] };
  }
  return { message, rest: [] };
}

/** What the status channel says. */
export function outcomeOf(text: string): ExecOutcome {
  const parsed = ExecStatus.safeParse(json(text));
  if (!parsed.success)
    return { exitCode: null, message: 'the end of the command was told in words we do not know' };
  const { status, message = '', details } = parsed.data;
  if (status === 'Success') return { exitCode: 0, message: '' };
  const code = details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  return {
    exitCode: code !== undefined && /^\d+$/.test(code) ? Number(code) : null,
    message: message.slice(0, 1_000),
  };
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // told apart by the schema
  }
}

function bytesOf(data: WebSocket.RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
