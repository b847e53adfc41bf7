// One cluster's API server: who we are to it, connections that are kept, and calls that all have an end.
import { delimiter } from 'node:path';
import type { RequestOptions } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeConfig, type Cluster } from '@kubernetes/client-node';
import { Agent, ProxyAgent, request, type Dispatcher } from 'undici';
import type { z } from 'zod';
import { aborted } from '../sandbox/aborted.ts';
import { ClassifiedError, InputError } from '../domain/errors.ts';
import type { KubernetesConfig } from './config.ts';
import { connectionError, isBrokenConnection, refusalOf } from './kube-errors.ts';
import { ServerClock } from './server-clock.ts';

/** Calls take milliseconds; an API server that is silent for this long is not there for us. */
const callTimeoutMs = 30_000;
/** Waits before the second and third try of a call that was cut or turned away: every call of ours may be made twice. */
const pausesMs = [100, 500];
/** A longer wait than this that the server asks for is our caller's to keep. */
const patienceMs = 2_000;
const maxAnswerBytes = 256 * 1024 ** 2;

export interface Call {
  /** For messages: what is being done. */
  readonly what: string;
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** Absolute, each part of it encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Default 30 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** What a connection to the API server needs: https options with an agent, as `ws` takes them too. */
export type Credentials = RequestOptions;

export class Client {
  readonly config: KubeConfig;
  readonly clock = new ServerClock();
  readonly #cluster: Cluster;
  #dispatcher: { readonly key: string; readonly use: Dispatcher } | null = null;

  constructor(config: KubeConfig) {
    const cluster = config.getCurrentCluster();
    if (cluster === null) throw new InputError('the kubeconfig names no cluster of its current context', 78);
    this.config = config;
    this.#cluster = cluster;
  }

  /** The server's address without a slash at its end. */
  get server(): string {
    return this.#cluster.server.replace(/\/+$/, '');
  }

  /** The answer, parsed. Throws what `refusalOf` makes of a refusal, PlatformUnavailable, or the signal's reason. */
  async call<T>(call: Call, schema: z.ZodType<T>): Promise<T> {
    const text = await this.text(call);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw new ClassifiedError('PlatformUnavailable', `${call.what}: the API server answered no JSON`, {
        cause: error,
      });
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const issue = parsed.error.issues[0];
    const where = issue === undefined ? '' : `: ${issue.path.join('.')}: ${issue.message}`;
    throw new ClassifiedError(
      'Unexpected',
      `${call.what}: the API server's answer is not as we know it${where}`,
    );
  }

  /** The answer's text. */
  async text(call: Call): Promise<string> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#once(call);
      } catch (error) {
        const pauseMs = pausesMs[attempt];
        if (pauseMs === undefined || !isWorthAgain(error)) throw error;
        await sleep(pauseMs, undefined, { signal: call.signal });
      }
    }
  }

  /** Opens an answer that has no end of its own (a watch); the caller reads it, and ends it by the signal. */
  async stream(call: Call & { readonly signal: AbortSignal }): Promise<Dispatcher.ResponseData> {
    const answer = await this.#send(call, call.signal);
    if (answer.statusCode < 300) return answer;
    throw refusalOf(call.what, { ...answer, text: await textOf(answer.body) });
  }

  async credentials(): Promise<Credentials> {
    const options: Credentials = {};
    try {
      await this.config.applyToHTTPSOptions(options);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new ClassifiedError('ConfigInvalid', `the kubeconfig's credentials cannot be had: ${reason}`);
    }
    return options;
  }

  async close(): Promise<void> {
    const open = this.#dispatcher;
    this.#dispatcher = null;
    await open?.use.destroy();
  }

  async #once(call: Call): Promise<string> {
    const { timeoutMs = callTimeoutMs } = call;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = call.signal === undefined ? timeout : AbortSignal.any([call.signal, timeout]);
    try {
      const answer = await Promise.race([this.#send(call, signal), aborted(signal)]);
      const text = await textOf(answer.body);
      if (answer.statusCode < 300) return text;
      throw refusalOf(call.what, { ...answer, text });
    } catch (error) {
      call.signal?.throwIfAborted();
      if (timeout.aborted) throw connectionError(call.what, `no answer for ${timeoutMs / 1_000} s`, error);
      throw isBrokenConnection(error) ? connectionError(call.what, null, error) : error;
    }
  }

  async #send(call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const credentials = await this.credentials();
    const url = new URL(this.server + call.path);
    for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value);
    const answer = await request(url, {
      method: call.method ?? 'GET',
      headers: {
        accept: 'application/json',
        'user-agent': 'passband',
        ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headersOf(credentials),
      },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      dispatcher: this.#dispatcherFor(credentials),
      signal,
      // A watch is silent for longer; whoever reads one looks at that himself.
      bodyTimeout: 0,
    });
    this.clock.heard(answer.headers['date']);
    return answer;
  }

  /** Connections are kept for as long as the certificates are the same. */
  #dispatcherFor({ ca, cert, key, servername, rejectUnauthorized }: Credentials): Dispatcher {
    const used = JSON.stringify([ca, cert, key].map((part) => String(part as string | Buffer | undefined)));
    if (this.#dispatcher?.key === used) return this.#dispatcher.use;
    void this.#dispatcher?.use.close();
    const tls = {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(servername === undefined ? {} : { servername }),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    };
    const shared = { allowH2: false, keepAliveTimeout: 30_000 };
    const { proxyUrl } = this.#cluster;
    const use =
      proxyUrl === undefined || proxyUrl === ''
        ? new Agent({ ...shared, connect: { ...tls, timeout: 10_000 } })
        : new ProxyAgent({ ...shared, uri: proxyUrl, requestTls: tls });
    this.#dispatcher = { key: used, use };
    return use;
  }
}

/**
 * Loads who we are and which cluster: the configuration's kubeconfig, KUBECONFIG, ~/.kube/config, or the pod's own
 * service account. InputError (exit 78) where there is none, or where it cannot be read.
 */
export function createClient(
  { kubeconfig }: Pick<KubernetesConfig, 'kubeconfig'>,
  env: NodeJS.ProcessEnv,
): Client {
  const config = new KubeConfig();
  try {
    const [first, ...more] = (kubeconfig ?? env['KUBECONFIG'] ?? '')
      .split(delimiter)
      .filter((file) => file !== '');
    if (first === undefined) {
      config.loadFromDefault();
    } else {
      config.loadFromFile(first);
      for (const file of more) {
        const next = new KubeConfig();
        next.loadFromFile(file);
        config.mergeConfig(next, true);
      }
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InputError(`${kubeconfig ?? 'KUBECONFIG'}: no kubeconfig that can be read: ${reason}`, 78);
  }
  // What the library makes up where it finds nothing.
  if (config.getCurrentCluster()?.server === 'http://localhost:8080') {
    throw new InputError('no cluster: set `kubeconfig` or KUBECONFIG, or run inside a cluster', 78);
  }
  return new Client(config);
}

export function headersOf({ headers, auth }: Credentials): Record<string, string> {
  const entries = Object.entries({ ...headers }).map(([name, value]) => [name, String(value)] as const);
  const basic = auth === undefined || auth === null ? [] : [['Authorization', basicOf(auth)] as const];
  return Object.fromEntries([...basic, ...entries]);
}

const basicOf = (auth: string): string => `Basic ${Buffer.from(auth).toString('base64')}`;

function isWorthAgain(error: unknown): boolean {
  if (!(error instanceof ClassifiedError) || error.failureClass !== 'PlatformUnavailable') return false;
  return (error.retryAfterMs ?? 0) <= patienceMs && !/no answer for/.test(error.message);
}

async function textOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) {
      body.destroy();
      throw new ClassifiedError(
        'PlatformUnavailable',
        `the API server's answer has more than ${maxAnswerBytes} bytes`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
