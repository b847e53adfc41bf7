// An HTTP server between a client and a service: hands requests and WebSockets on, and treats some as a fault says.
import { once } from 'node:events';
import {
  createServer,
  request as plainRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { request as tlsRequest } from 'node:https';
import { connect as connectPlain, type AddressInfo, type Socket } from 'node:net';
import { pipeline, Transform, type Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { connect as connectTls, type SecureContextOptions } from 'node:tls';
import type { Asked, Treat, Treatment } from './treatment.ts';

export interface Upstream {
  readonly protocol: 'http:' | 'https:';
  readonly host: string;
  readonly port: number;
  readonly tls?: SecureContextOptions;
}

/** Told of each answer that the service gave, when its head has come, whether the client gets it or not. */
export type Observe = (asked: Asked, status: number) => void;

export class HttpProxy {
  /** Added to each request, and to each piece of what passes, in milliseconds. */
  lagMs = 0;
  readonly #upstream: Upstream;
  readonly #observe: Observe;
  readonly #open = new Set<Duplex>();
  readonly #hung = new Set<Duplex>();
  #server: Server;
  #port = 0;
  #treat: Treat | null = null;

  private constructor(upstream: Upstream, observe: Observe) {
    this.#upstream = upstream;
    this.#observe = observe;
    this.#server = this.#makeServer();
  }

  /** Listens on a free port of the loopback address. */
  static async start(upstream: Upstream, observe: Observe = () => undefined): Promise<HttpProxy> {
    const proxy = new HttpProxy(upstream, observe);
    await proxy.back();
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Treats what is asked while `work` lasts; what hangs then is cut. */
  async treating(treat: Treat, work: () => Promise<void>): Promise<void> {
    this.#treat = treat;
    try {
      await work();
    } finally {
      this.#treat = null;
      for (const socket of this.#hung) socket.destroy();
    }
  }

  /** Cuts every connection and takes none any more. */
  async away(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
    await closed;
  }

  /** Listens again on its port; `elsewhere`: on another one. */
  async back({ elsewhere = false } = {}): Promise<void> {
    if (this.#server.listening) return;
    this.#server = this.#makeServer();
    this.#server.listen(elsewhere ? 0 : this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  #makeServer(): Server {
    const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
      this.#take(incoming, outgoing).catch(() => outgoing.destroy());
    });
    server.on('connection', (socket: Socket) => this.#hold(socket));
    server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#upgrade(incoming, socket, head).catch(() => socket.destroy());
    });
    return server;
  }

  #hold(socket: Duplex): void {
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#hung.delete(socket);
    });
    socket.on('error', () => socket.destroy());
  }

  async #take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const asked = askedOf(incoming, await buffer(incoming));
    await this.#lag();
    const treatment = this.#treat?.(asked) ?? null;
    if (treatment?.kind === 'hang') {
      this.#hung.add(incoming.socket);
      return;
    }
    if (isCutBefore(treatment)) {
      outgoing.destroy();
      return;
    }
    if (treatment?.kind === 'answer' && !treatment.performed) {
      answer(outgoing, treatment.answer);
      return;
    }
    if (treatment?.kind === 'cut' && treatment.after === 'half-the-body') {
      await this.#sendHalf(incoming, asked.body);
      outgoing.destroy();
      return;
    }
    const reply = await this.#send(incoming, asked.body);
    this.#observe(asked, reply.statusCode ?? 0);
    if (treatment?.kind === 'answer' || treatment?.kind === 'cut') {
      await buffer(reply);
      if (treatment.kind === 'cut') outgoing.destroy();
      else answer(outgoing, treatment.answer);
      return;
    }
    this.#hand(reply, outgoing, treatment?.kind === 'change' ? treatment.through : null);
  }

  #hand(reply: IncomingMessage, outgoing: ServerResponse, through: Transform | null): void {
    const headers = { ...reply.headers };
    // Of one connection, and the length of what is not changed.
    for (const name of ['connection', 'transfer-encoding', ...(through === null ? [] : ['content-length'])]) {
      Reflect.deleteProperty(headers, name);
    }
    outgoing.writeHead(reply.statusCode ?? 502, headers);
    // A watch says nothing for long, and its client waits for the head.
    outgoing.flushHeaders();
    const done = (error?: Error | null): void => {
      reply.destroy();
      if (error) outgoing.destroy();
    };
    outgoing.once('close', () => reply.destroy());
    const lag = this.#lagging();
    if (through === null) pipeline(reply, lag, outgoing, done);
    else pipeline(reply, through, lag, outgoing, done);
  }

  async #upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    this.#hold(socket);
    await this.#lag();
    const treatment = this.#treat?.(askedOf(incoming, Buffer.alloc(0))) ?? null;
    if (treatment?.kind === 'hang') {
      this.#hung.add(socket);
      return;
    }
    if (treatment?.kind === 'answer') {
      socket.end(headOf(`HTTP/1.1 ${treatment.answer.status} Treated`, { connection: 'close' }));
      return;
    }
    if (treatment?.kind === 'cut') {
      socket.destroy();
      return;
    }
    const far = this.#connect();
    this.#hold(far);
    far.write(headOf(`${incoming.method ?? 'GET'} ${incoming.url ?? '/'} HTTP/1.1`, incoming.headers));
    far.write(head);
    socket.once('close', () => far.destroy());
    far.once('close', () => socket.destroy());
    socket.pipe(this.#lagging()).pipe(far);
    far.pipe(this.#lagging()).pipe(socket);
  }

  #connect(): Socket {
    const { protocol, host, port, tls } = this.#upstream;
    return protocol === 'https:'
      ? connectTls({ ...tls, host, port, ALPNProtocols: ['http/1.1'] })
      : connectPlain({ host, port });
  }

  /** Each on a connection of its own: one that the service closed meanwhile would be a fault of ours. */
  #request(incoming: IncomingMessage) {
    const { protocol, host, port, tls } = this.#upstream;
    const headers: IncomingMessage['headers'] = { ...incoming.headers, connection: 'close' };
    // Answered here already.
    delete headers.expect;
    const options = {
      ...{ host, port, method: incoming.method ?? 'GET', path: incoming.url ?? '/', agent: false as const },
      // The client signed its own Host header, so it goes on as it came.
      ...{ headers, setHost: false },
    };
    const onward = protocol === 'https:' ? tlsRequest({ ...options, ...tls }) : plainRequest(options);
    // Whoever waits for the answer is told; later there is nobody to tell.
    onward.on('error', () => onward.destroy());
    return onward;
  }

  async #send(incoming: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const onward = this.#request(incoming);
    const gone = (): unknown => onward.destroy();
    incoming.socket.once('close', gone);
    onward.once('close', () => incoming.socket.off('close', gone));
    onward.end(body);
    const [reply] = (await once(onward, 'response')) as [IncomingMessage];
    return reply;
  }

  async #sendHalf(incoming: IncomingMessage, body: Buffer): Promise<void> {
    const onward = this.#request(incoming);
    await new Promise<void>((resolve) => {
      onward.once('close', resolve);
      onward.write(body.subarray(0, Math.floor(body.length / 2)), () => onward.destroy());
    });
  }

  async #lag(): Promise<void> {
    if (this.lagMs > 0) await new Promise((resolve) => setTimeout(resolve, this.lagMs).unref());
  }

  /** Pieces stay in order: each waits for the one before it. */
  #lagging(): Transform {
    return new Transform({
      transform: (piece: Buffer, _encoding, done) => {
        if (this.lagMs === 0) done(null, piece);
        else setTimeout(() => done(null, piece), this.lagMs);
      },
    });
  }
}

function askedOf({ method = 'GET', url = '/', headers }: IncomingMessage, body: Buffer): Asked {
  const { pathname, searchParams } = new URL(url, 'http://proxy');
  return { method, path: pathname, query: searchParams, headers, body };
}

const isCutBefore = (treatment: Treatment | null): boolean =>
  treatment?.kind === 'cut' && treatment.after === 'nothing';

function answer(
  outgoing: ServerResponse,
  { status, headers = {}, body }: Extract<Treatment, { kind: 'answer' }>['answer'],
): void {
  outgoing.writeHead(status, headers).end(body);
}

function headOf(first: string, headers: IncomingMessage['headers']): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${Array.isArray(value) ? value.join(', ') : value}`],
  );
  return `${[first, ...lines].join('\r\n')}\r\n\r\n`;
}
