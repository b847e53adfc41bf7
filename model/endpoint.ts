// Where a model answers: the URLs under a base that a person may write in several ways.
import { InputError } from '../domain/errors.ts';

export interface Endpoint {
  readonly chat: URL;
  readonly completions: URL;
  /** vLLM has it beside /v1 and not under it. */
  readonly tokenize: URL;
  readonly models: URL;
  /** Where vLLM tells its version: beside the API, not in it. */
  readonly version: URL;
  /** For people: without credentials and query. */
  readonly shown: string;
}

/**
 * `http://host:8000`, `.../v1`, `.../v1/` and `.../v1/chat/completions` all name one endpoint; a path of another name
 * is taken as it stands.
 * @throws InputError where it is no http or https URL
 */
export function readEndpoint(url: string): Endpoint {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new InputError(
      `model endpoint ${JSON.stringify(url)} is no http(s) URL: write http://HOST:PORT/v1`,
      78,
    );
  }
  const path = parsed.pathname.replace(/\/+$/, '').replace(/\/chat\/completions$/, '');
  const base = `${parsed.origin}${path === '' ? '/v1' : path}`;
  return {
    chat: new URL(`${base}/chat/completions`),
    completions: new URL(`${base}/completions`),
    tokenize: new URL(`${base.replace(/\/v1$/, '')}/tokenize`),
    models: new URL(`${base}/models`),
    version: new URL(`${base.replace(/\/v1$/, '')}/version`),
    shown: base,
  };
}
