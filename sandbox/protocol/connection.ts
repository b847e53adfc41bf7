// One connection to a supervisor: one request at a time, with the stream that may go with it in either direction.
import { createHash } from 'node:crypto';
import { PassThrough, type Duplex, type Readable } from 'node:stream';
import type { z } from 'zod';
import { ConnectionLost, FrameReader, maxDataBytes, writeFrame, type Frame } from './frames.ts';
import { FailedResponse, HelloResponse, StreamEnd } from './responses.ts';
import { Voice } from './voice.ts';

/** The supervisor's own word that it did not do it (error kinds of toolbox/PROTOCOL.md). */
export class SupervisorError extends Error {
  readonly kind: string;

  constructor(kind: string, message: string) {
    super(message);
    this.name = 'SupervisorError';
    this.kind = kind;
  }
}

export interface Digest {
  readonly bytes: number;
  readonly sha256: string;
}

export interface Exchange<T> {
  readonly request: Readonly<Record<string, unknown>> & { readonly op: string };
  readonly response: z.ZodType<T>;
  /** Sent after the request. */
  readonly body?: Readable;
  /** Takes the response's stream, which ends only when its digest was found right. */
  readonly sink?: (stream: Readable) => Promise<void>;
  readonly signal?: AbortSignal | undefined;
}

export interface Exchanged<T> {
  readonly response: T;
  readonly sent: Digest | null;
  readonly received: Digest | null;
}

/** A supervisor at work says so every 2 s; silence for this long is a connection that is no more. */
const silenceMs = 30_000;

export class Connection {
  readonly #stream: Duplex;
  readonly #frames: FrameReader;
  readonly #voice: Voice;
  #broken = false;

  /** `bootId`: of the PID 1 that is to speak; null: of the one that answers hello. */
  constructor(stream: Duplex, bootId: string | null) {
    this.#stream = stream;
    this.#voice = new Voice(bootId);
    // The reader and the writer see the error as well; without a listener it would end the process.
    stream.on('error', () => this.close());
    stream.on('close', () => (this.#broken = true));
    this.#frames = new FrameReader(stream);
  }

  /** False once a request failed half-way: what comes next on the stream is nobody's. */
  get usable(): boolean {
    return !this.#broken;
  }

  /** The first question: what PID 1 says from its answer on was said to this connection alone. */
  async greet(): Promise<z.infer<typeof HelloResponse>> {
    const request = { op: 'hello', nonce: this.#voice.greet() };
    const { response } = await this.exchange({ request, response: HelloResponse });
    return response;
  }

  /**
   * Asks one request and waits for its answer, however long it takes. Throws SupervisorError (the connection
   * stays usable where no stream was under way), ConnectionLost (Forged), the body's or the sink's own error, or the
   * signal's reason.
   */
  async exchange<T>(exchange: Exchange<T>): Promise<Exchanged<T>> {
    const { signal } = exchange;
    signal?.throwIfAborted();
    const onAbort = (): void => this.close();
    signal?.addEventListener('abort', onAbort, { once: true });
    let clean = false;
    try {
      const result = await this.#perform(exchange);
      clean = true;
      return result;
    } catch (error) {
      clean = error instanceof SupervisorError && exchange.body === undefined && exchange.sink === undefined;
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      if (!clean) this.close();
    }
  }

  close(): void {
    this.#broken = true;
    this.#stream.destroy();
  }

  async #perform<T>({ request, response, body, sink }: Exchange<T>): Promise<Exchanged<T>> {
    const question = body === undefined ? request : { ...request, stream: true };
    const text = Buffer.from(JSON.stringify(question));
    this.#voice.asks(text);
    await writeFrame(this.#stream, 'Q', text);
    if (body === undefined) return { ...(await this.#answer(response, sink)), sent: null };
    const sending = this.#send(body);
    // An answer before the whole body was taken is a refusal: it is the news, not the sending's error.
    const answer = this.#answer(response, sink);
    const first = await Promise.race([
      sending.then(
        () => null,
        (error: unknown) => ({ error }),
      ),
      answer.then(
        () => null,
        (error: unknown) => ({ error }),
      ),
    ]);
    if (first !== null) {
      body.destroy();
      this.close();
      const [answered] = await Promise.allSettled([answer, sending]);
      if (answered.status === 'rejected' && answered.reason instanceof SupervisorError) throw answered.reason;
      // What failed first is why the other failed.
      throw first.error;
    }
    const [sent, answered] = await Promise.all([sending, answer]);
    return { ...answered, sent };
  }

  async #send(body: Readable): Promise<Digest> {
    const hash = createHash('sha256');
    let bytes = 0;
    /** Of the next frame: sources give small pieces, and every frame costs something on all of its way. */
    let parts: Buffer[] = [];
    let room = maxDataBytes;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      hash.update(chunk);
      bytes += chunk.length;
      for (let at = 0; at < chunk.length;) {
        const part = chunk.subarray(at, at + room);
        parts.push(part);
        at += part.length;
        room -= part.length;
        if (room > 0) continue;
        await writeFrame(this.#stream, 'D', ...parts);
        [parts, room] = [[], maxDataBytes];
      }
    }
    if (parts.length > 0) await writeFrame(this.#stream, 'D', ...parts);
    const digest = { bytes, sha256: hash.digest('hex') };
    await writeFrame(this.#stream, 'E', Buffer.from(JSON.stringify(digest)));
    return digest;
  }

  async #answer<T>(
    schema: z.ZodType<T>,
    sink: Exchange<T>['sink'],
  ): Promise<{ response: T; received: Digest | null }> {
    if (sink === undefined) {
      const frame = await this.#next();
      if (frame.type !== 'R') throw new ConnectionLost(`a frame ${frame.type} where an answer was due`);
      return { response: parseResponse(frame, schema), received: null };
    }
    const source = new PassThrough({ highWaterMark: 4 * maxDataBytes });
    const sinking = sink(source);
    // Its rejection is looked at below, after the stream's own end is known.
    const sunk = sinking.then(
      () => true,
      () => true,
    );
    try {
      const { response, received } = await this.#receive(source, schema, sunk);
      source.end();
      await sinking;
      return { response, received };
    } catch (error) {
      source.on('error', () => undefined);
      source.destroy(error instanceof Error ? error : new Error(String(error)));
      await sunk;
      throw error;
    }
  }

  /** Feeds `source` from D frames, compares them with E, and reads the answer that follows. */
  async #receive<T>(
    source: PassThrough,
    schema: z.ZodType<T>,
    sunk: Promise<boolean>,
  ): Promise<{ response: T; received: Digest }> {
    const hash = createHash('sha256');
    let bytes = 0;
    let wanted = true;
    let received: Digest | null = null;
    for (;;) {
      const frame = await this.#next();
      if (frame.type === 'D' && received === null) {
        hash.update(frame.payload);
        bytes += frame.payload.length;
        if (wanted) wanted = await push(source, frame.payload, sunk);
      } else if (frame.type === 'E' && received === null) {
        const told = parse(json(frame), StreamEnd);
        received = { bytes, sha256: hash.digest('hex') };
        if (told.bytes !== bytes || told.sha256 !== received.sha256) {
          throw new ConnectionLost(`${bytes} bytes came of ${told.bytes}, or not those that were sent`);
        }
      } else if (frame.type === 'R') {
        const response = parseResponse(frame, schema);
        if (received === null) throw new ConnectionLost('the answer came before the end of its stream');
        return { response, received };
      } else {
        throw new ConnectionLost(`a frame ${frame.type} out of turn`);
      }
    }
  }

  /** The next frame that is not a heartbeat, of PID 1's own. */
  async #next(): Promise<Frame> {
    for (;;) {
      const silence = setTimeout(() => {
        this.#stream.destroy(new Error(`no sign of life for ${silenceMs / 1000} s`));
      }, silenceMs);
      try {
        const frame = this.#voice.verified(await this.#frames.next());
        if (frame.type !== 'H') return frame;
      } finally {
        clearTimeout(silence);
      }
    }
  }
}

/** Gives the sink one chunk, at its pace. False once the sink wants no more: the rest is counted and dropped. */
async function push(source: PassThrough, chunk: Buffer, sunk: Promise<boolean>): Promise<boolean> {
  const taken = new Promise<boolean>((resolve) => source.write(chunk, (error) => resolve(!error)));
  return Promise.race([taken, sunk.then(() => false)]);
}

function json(frame: Frame): unknown {
  try {
    return JSON.parse(frame.payload.toString('utf8'));
  } catch (error) {
    throw new ConnectionLost('the supervisor answered something that is not JSON', { cause: error });
  }
}

function parse<T>(value: unknown, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue === undefined ? '' : `${issue.path.join('.')}: ${issue.message}`;
  throw new ConnectionLost(`the supervisor answered something else than its protocol says: ${where}`);
}

function parseResponse<T>(frame: Frame, schema: z.ZodType<T>): T {
  const value = json(frame);
  const failed = FailedResponse.safeParse(value);
  if (failed.success)
    throw new SupervisorError(failed.data.error.kind, failed.data.error.message.slice(0, 2048));
  return parse(value, schema);
}
