// What a survey of egress tries: the cluster's own places, those of the configuration, and those of the sweep.
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { ProofTarget } from '../sandbox/egress.ts';
import { kubeletPort, kubeletTarget } from './pod-link.ts';

/** Where the peer of a canary listens: a port that needs no right of its own. */
export const peerPort = 7_007;
/** What one proof takes at most; a sandbox adds one of its own. */
const maxTargets = 60;

export interface ClusterPlaces {
  /** As we reach it ourselves. */
  readonly server: string;
  /** What the kubelet tells every pod of the API server's Service. */
  readonly service: { readonly host: string; readonly port: number } | null;
  /** The first of a pod's that uses the cluster's names. */
  readonly nameserver: string | null;
  readonly peer: { readonly podIP: string; readonly hostIP: string };
}

/** The cluster's own places, by the names that proofs tell. */
export function clusterTargets({ server, service, nameserver, peer }: ClusterPlaces): readonly ProofTarget[] {
  const url = new URL(server);
  const port = url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : Number(url.port);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // On loopback we reach it through something of our own machine: pods have the Service.
  const api = isLoopback(host) ? service : { host, port };
  const tcp = (
    name: string,
    place: { readonly host: string; readonly port: number } | null,
  ): ProofTarget[] =>
    place === null || place.host === '' ? [] : [{ name, kind: 'tcp', host: place.host, port: place.port }];
  return [
    ...tcp('API server', api),
    ...tcp('Service', service),
    ...tcp(kubeletTarget, { host: peer.hostIP, port: kubeletPort }),
    ...tcp('another pod', { host: peer.podIP, port: peerPort }),
    ...(nameserver === null ? [] : [{ name: 'DNS', kind: 'udp-dns' as const, host: nameserver, port: 53 }]),
  ];
}

/** All of them, each name once (the first that has it) and at most as many as one proof takes. */
export function distinctTargets(lists: readonly (readonly ProofTarget[])[]): readonly ProofTarget[] {
  const byName = new Map<string, ProofTarget>();
  for (const target of lists.flat()) if (!byName.has(target.name)) byName.set(target.name, target);
  return [...byName.values()].slice(0, maxTargets);
}

/** Names as addresses: a sandbox has no names, and what it cannot look up it could not be shown to reach. */
export function resolved(targets: readonly ProofTarget[]): Promise<readonly ProofTarget[]> {
  return Promise.all(
    targets.map(async (target) => {
      if (isIP(target.host) !== 0) return target;
      const found = await lookup(target.host).catch(() => null);
      return found === null ? target : { ...target, host: found.address };
    }),
  );
}

/** The first nameserver of a resolv.conf, null where it names none. */
export function nameserverOf(resolvConf: string): string | null {
  return /^\s*nameserver\s+(\S+)/m.exec(resolvConf)?.[1] ?? null;
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.');
