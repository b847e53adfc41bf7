// Requests of the OCI distribution API: anonymous, with Basic credentials, or with the token that a registry asks for.
import { z } from 'zod';
import { credentialsOf, type Credentials } from './credentials.ts';
import { refusalOf, silenceOf } from './registry-errors.ts';
import type { RegistryConfig, RegistryPlace } from './registry-place.ts';

/** Answers are small; a registry that is silent for this long is stuck. */
const timeoutMs = 30_000;

const Token = z.object({ token: z.string().optional(), access_token: z.string().optional() });

export interface RegistryRequest {
  /** For errors: `looking for IMAGE`. */
  readonly what: string;
  readonly method: 'HEAD' | 'GET';
  /** Below /v2/REPOSITORY/. */
  readonly path: string;
  readonly accept?: string;
}

export class RegistryClient {
  readonly #config: RegistryConfig;
  readonly #env: NodeJS.ProcessEnv;
  /** Of each repository, what was granted last: asked for anew where it no longer is. */
  readonly #granted = new Map<string, string>();

  constructor(config: RegistryConfig, env: NodeJS.ProcessEnv) {
    this.#config = config;
    this.#env = env;
  }

  /**
   * The answer, null where what is asked for is not there.
   * @throws ClassifiedError Forbidden (401, 403), ImagePullTransient (429 with its delay, 5xx, no answer), ConfigInvalid
   *   (TLS of a registry that we are told to use), ImageMissing (a host that is nowhere)
   */
  async ask(place: RegistryPlace, request: RegistryRequest, signal?: AbortSignal): Promise<Response | null> {
    const first = await this.#send(place, request, signal);
    const answer = first.status === 401 ? await this.#authorized(place, { request, first, signal }) : first;
    if (answer.ok) return answer;
    const body = await answer.text().catch(() => '');
    if (answer.status === 404) return null;
    throw refusalOf(request.what, place, answer, body);
  }

  async #authorized(
    place: RegistryPlace,
    asked: {
      readonly request: RegistryRequest;
      readonly first: Response;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<Response> {
    const { request, first, signal } = asked;
    const key = `${place.url}/${place.repository}`;
    this.#granted.delete(key);
    const credentials = await credentialsOf(place.host, this.#config.dockerConfig, this.#env);
    const challenge = first.headers.get('www-authenticate') ?? '';
    const granted = /^bearer /i.test(challenge)
      ? await this.#token(place, { challenge, credentials, what: request.what, signal })
      : credentials?.kind === 'basic'
        ? credentials.header
        : null;
    if (granted === null) return first;
    await first.body?.cancel();
    this.#granted.set(key, granted);
    return this.#send(place, request, signal);
  }

  async #send(place: RegistryPlace, request: RegistryRequest, signal?: AbortSignal): Promise<Response> {
    const key = `${place.url}/${place.repository}`;
    const authorization = this.#granted.get(key);
    const headers = {
      ...(request.accept === undefined ? {} : { accept: request.accept }),
      ...(authorization === undefined ? {} : { authorization }),
    };
    const url = `${place.url}/v2/${place.repository}/${request.path}`;
    return fetched(place, request.what, { url, init: { method: request.method, headers }, signal });
  }

  /** The header of a token for what the challenge names; null where it names nothing. */
  async #token(
    place: RegistryPlace,
    asked: {
      readonly challenge: string;
      readonly credentials: Credentials | null;
      readonly what: string;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<string | null> {
    const { challenge, credentials, what, signal } = asked;
    const told = new Map([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
    const realm = told.get('realm');
    if (realm === undefined || !URL.canParse(realm)) return null;
    const query = new URLSearchParams();
    const [service, scope] = [told.get('service'), told.get('scope')];
    if (service !== undefined) query.set('service', service);
    if (scope !== undefined) query.set('scope', scope);
    const url = new URL(realm);
    let init: RequestInit = {};
    if (credentials?.kind === 'identity') {
      query.set('grant_type', 'refresh_token');
      query.set('client_id', 'passband');
      query.set('refresh_token', credentials.token);
      init = { method: 'POST', body: query };
    } else {
      for (const [name, value] of query) url.searchParams.set(name, value);
      if (credentials !== null) init = { headers: { authorization: credentials.header } };
    }
    const answer = await fetched(place, `a token for ${what}`, { url: url.href, init, signal });
    if (!answer.ok)
      throw refusalOf(`a token for ${what}`, place, answer, await answer.text().catch(() => ''));
    const granted = Token.safeParse(await answer.json().catch(() => null));
    const value = granted.data?.token ?? granted.data?.access_token;
    return value === undefined ? null : `Bearer ${value}`;
  }
}

async function fetched(
  place: RegistryPlace,
  what: string,
  request: { readonly url: string; readonly init: RequestInit; readonly signal: AbortSignal | undefined },
): Promise<Response> {
  const { url, init, signal } = request;
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await fetch(url, {
      ...init,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw silenceOf(what, place, error);
  }
}
