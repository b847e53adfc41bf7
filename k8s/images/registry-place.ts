// Where an image is asked for: the registry of its host, or the one that stands in for it.
import { InputError } from '../../domain/errors.ts';
import type { KubernetesConfig } from '../config.ts';
import type { Reference } from './reference.ts';

export type RegistryConfig = KubernetesConfig['registry'];

export interface RegistryPlace {
  /** `https://registry.example:5000` */
  readonly url: string;
  /** Credentials are kept by it. */
  readonly host: string;
  readonly repository: string;
  /** Named by the configuration: when it does not answer it is down, and not a mistake in a task. */
  readonly known: boolean;
}

/** The place of an image. A mirror is asked instead of the host that it stands for. */
export function placeOf({ host, repository }: Reference, config: RegistryConfig): RegistryPlace {
  const own = hostOf(config.repository);
  const mirror = config.mirrors[host];
  if (mirror === undefined) {
    const scheme = host === own && config.insecure ? 'http' : 'https';
    const server = host === 'docker.io' ? 'registry-1.docker.io' : host;
    return { url: `${scheme}://${server}`, host, repository, known: host === own };
  }
  const { scheme, at, prefix } = parseMirror(host, mirror);
  const plain = scheme ?? (at === own && config.insecure ? 'http' : 'https');
  return { url: `${plain}://${at}`, host: at, repository: `${prefix}${repository}`, known: true };
}

/** HOST[:PORT][/PREFIX], with http:// before it where it has no TLS. */
function parseMirror(host: string, text: string) {
  const found = /^(?:(https?):\/\/)?([A-Za-z0-9.-]+(?::\d+)?)((?:\/[a-z0-9._-]+)*)\/?$/.exec(text);
  if (found === null) {
    throw new InputError(`registry.mirrors: ${host}: ${text} is no mirror: give HOST[:PORT][/PREFIX]`, 78);
  }
  const [, scheme, at = '', path = ''] = found;
  return { scheme, at, prefix: path === '' ? '' : `${path.slice(1)}/` };
}

export const hostOf = (repository: string): string => repository.split('/')[0] ?? repository;
