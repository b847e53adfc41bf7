// Where a container engine answers: a socket's path or a DOCKER_HOST form, as dockerode takes it.
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { InputError } from '../../domain/errors.ts';

/** dockerode takes an agent as well; its types do not know. */
type EngineOptions = Docker.DockerOptions & { readonly agent?: Agent };

export interface Endpoint {
  /** As the user gave it. */
  readonly text: string;
  /** The machine that the engine runs on, as far as we know. */
  readonly host: string;
  readonly options: EngineOptions;
}

/**
 * Parses `/run/docker.sock`, `unix:///run/docker.sock`, `tcp://host:2375`, or `tcp://host:2376` with the folder of
 * client certificates (ca.pem, cert.pem, key.pem). InputError for anything else.
 */
export function parseEndpoint(text: string, certificates: string | null = null): Endpoint {
  const socketPath = text.startsWith('unix://') ? text.slice('unix://'.length) : text;
  // A connection to a local socket costs nothing; one kept open may be closed by the engine just as it is used.
  const agent = new Agent({ keepAlive: false });
  if (socketPath.startsWith('/')) {
    // host undefined: otherwise dockerode takes DOCKER_HOST of the environment for it.
    return { text, host: hostname(), options: { socketPath, host: undefined, agent } };
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['tcp:', 'http:', 'https:'].includes(url.protocol) || url.hostname === '') {
    throw new InputError(
      `${text} is no engine's address: give a socket's path, unix:///PATH or tcp://HOST:PORT`,
    );
  }
  const secure = url.protocol === 'https:' || certificates !== null;
  const port = url.port === '' ? (secure ? 2376 : 2375) : Number(url.port);
  const read = (name: string) => readFileSync(join(certificates ?? '', name));
  const keys: Partial<Record<'ca' | 'cert' | 'key', Buffer>> =
    certificates === null ? {} : { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem') };
  const protocol = secure ? 'https' : 'http';
  const options: EngineOptions = { host: url.hostname, port, protocol, ...keys };
  return { text, host: url.hostname, options: secure ? options : { ...options, agent } };
}
