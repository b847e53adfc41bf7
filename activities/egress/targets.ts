// Places that no trial of a sweep may reach and only the sweep itself knows of: its models' endpoints and its store.
import type { SweepSettings } from '../../domain/sweep.ts';
import type { ProofTarget } from '../../sandbox/egress.ts';

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/**
 * One target an address. What is on loopback is left out: it is this machine's own, and a sandbox's loopback another.
 * `storeEndpoint` is null where the store is a folder.
 */
export function sweepTargets(
  { endpoints }: Pick<SweepSettings, 'endpoints'>,
  storeEndpoint: string | null,
): readonly ProofTarget[] {
  const named: readonly (readonly [string, string])[] = [
    ...Object.entries(endpoints)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([model, { urls }]) =>
        urls.map((url, at) => [`model endpoint ${model}${at === 0 ? '' : ` ${at + 1}`}`, url] as const),
      ),
    ...(storeEndpoint === null ? [] : [['store', storeEndpoint] as const]),
  ];
  const targets = new Map<string, ProofTarget>();
  for (const [name, url] of named) {
    const { hostname, port, protocol } = new URL(url);
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const at = port === '' ? (defaultPorts[protocol] ?? 443) : Number(port);
    const key = `${host}:${at}`;
    if (isLoopback(host) || targets.has(key)) continue;
    targets.set(key, { name, kind: 'tcp', host, port: at });
  }
  return [...targets.values()];
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' ||
  host.endsWith('.localhost') ||
  /^(127\.\d+\.\d+\.\d+|::1|0\.0\.0\.0|::)$/.test(host);

const hostOfAws = (region: string | null): string =>
  region === null ? 'https://s3.amazonaws.com' : `https://s3.${region}.amazonaws.com`;

/** Where a store of this URL (as it is shown) answers; null where it is a folder. */
export function storeEndpointOf(
  url: string,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  if (!url.startsWith('s3:')) return null;
  const query = new URL(url).searchParams;
  const region = query.get('region') ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? null;
  return query.get('endpoint') ?? hostOfAws(region);
}
