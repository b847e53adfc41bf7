// What a survey of egress tries: the cluster's own places, those of the configuration, and those of the sweep.
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { EgressSurvey, ProofTarget } from '../sandbox/egress.ts';
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

/**
 * What the canary is asked for: each name as it stands, for it to look up in the cluster, and beside it the address that
 * it has for us, which may be another one.
 */
export async function namesAndAddresses(targets: readonly ProofTarget[]): Promise<readonly ProofTarget[]> {
  const both = targets.map(async (target) => {
    if (isIP(target.host) !== 0) return [target];
    const found = await lookup(target.host).catch(() => null);
    return found === null ? [target] : [target, { ...target, host: found.address }];
  });
  return (await Promise.all(both)).flat();
}

/** What the canary says of one target. `address`: the one that answered. */
interface CanaryProbe {
  readonly outcome: string;
  readonly detail: string;
  readonly address: string | null;
}

/**
 * The targets of sandboxes, which are asked for addresses alone: a name is the address that answered the canary. One that
 * has led to none is left out where its name has an address, and else told as it stands.
 */
export function surveyed(
  targets: readonly ProofTarget[],
  probes: readonly CanaryProbe[],
): EgressSurvey['targets'] {
  const judged = targets.map((target, at) => {
    const { outcome, detail, address } = probes[at] ?? {
      ...{ outcome: 'untried', detail: 'not tried', address: null },
    };
    const host = isIP(target.host) === 0 ? (address ?? target.host) : target.host;
    return { ...target, host, provable: outcome === 'open', detail };
  });
  const byPlace = new Map<string, EgressSurvey['targets'][number]>();
  for (const one of judged) {
    const named = isIP(one.host) === 0;
    if (named && judged.some(({ name, host }) => name === one.name && isIP(host) !== 0)) continue;
    const place = JSON.stringify([one.name, one.kind, one.host, one.port]);
    if (byPlace.get(place)?.provable !== true) byPlace.set(place, one);
  }
  return [...byPlace.values()];
}

/** The names of which no place has answered. */
export function unanswered(
  targets: readonly ProofTarget[],
  probes: readonly Pick<CanaryProbe, 'outcome'>[],
): readonly string[] {
  const answered = new Set(targets.filter((_, at) => probes[at]?.outcome === 'open').map(({ name }) => name));
  return [...new Set(targets.map(({ name }) => name))].filter((name) => !answered.has(name));
}

/** The first nameserver of a resolv.conf, null where it names none. */
export function nameserverOf(resolvConf: string): string | null {
  return /^\s*nameserver\s+(\S+)/m.exec(resolvConf)?.[1] ?? null;
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.');
