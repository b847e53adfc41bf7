// The canary: a pod that the policy lets out and its peer, from which is seen what a closed sandbox could have reached.
import { setTimeout as sleep } from 'node:timers/promises';
import { text } from 'node:stream/consumers';
import type { V1Pod } from '@kubernetes/client-node';
import { extract } from 'tar-stream';
import type { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import type { Image } from '../domain/gate.ts';
import type { EgressSurvey, ProofTarget, SurveyRequest } from '../sandbox/egress.ts';
import { ProofResponse } from '../sandbox/protocol/responses.ts';
import { Connections } from '../sandbox/supervised/connections.ts';
import { getFiles } from '../sandbox/supervised/files.ts';
import { recovering } from '../sandbox/supervised/recovery.ts';
import type { Supervised } from '../sandbox/supervised/supervised.ts';
import { canaryPod } from './canary-pod.ts';
import {
  clusterTargets,
  distinctTargets,
  namesAndAddresses,
  nameserverOf,
  surveyed,
  unanswered,
} from './canary-targets.ts';
import type { KubernetesConfig } from './config.ts';
import { lifeOf, startOf, type ObservedPod } from './observed-pod.ts';
import type { Owners } from './owner.ts';
import { place, type PlaceParts } from './place.ts';
import { PodLink, type LinkParts } from './pod-link.ts';
import { hasEnded } from './pod-state.ts';

/** How long a target may take to answer: as long as in a sandbox's proof, or it would be called denied there. */
const answerMs = 1_000;
/** A policy that lets the canary out reaches it late. */
const settleMs = 15_000;
const againMs = 500;
/** The peer is looked at this often: without it nobody could answer. */
const keptMs = 30_000;

export interface CanaryParts extends PlaceParts, LinkParts {
  readonly config: KubernetesConfig;
  readonly owners: Owners;
  readonly toolbox: (signal?: AbortSignal) => Promise<Image>;
}

interface Kept {
  readonly survey: EgressSurvey;
  readonly peer: { readonly name: string; readonly uid: string };
  readonly checkedMs: number;
}

type Probes = NonNullable<z.infer<typeof ProofResponse>['probes']>;

export class Canary {
  readonly #parts: CanaryParts;
  readonly #kept = new Map<string, Kept>();
  readonly #running = new Map<string, Promise<EgressSurvey>>();

  constructor(parts: CanaryParts) {
    this.#parts = parts;
  }

  /** The survey of this name, made anew where its peer is gone. ClassifiedError EgressUnprovable, or what `place` throws. */
  async survey(request: SurveyRequest, signal?: AbortSignal): Promise<EgressSurvey> {
    const key = JSON.stringify([request.name, request.targets]);
    const running =
      this.#running.get(key) ?? this.#surveyed(key, request, signal).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  forget(): void {
    this.#kept.clear();
  }

  async #surveyed(key: string, request: SurveyRequest, signal?: AbortSignal): Promise<EgressSurvey> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && (await this.#stands(key, kept))) return kept.survey;
    const { survey, peer } = await this.#make(request, signal);
    const { name, uid } = peer.metadata;
    this.#kept.set(key, { survey, peer: { name, uid }, checkedMs: performance.now() });
    return survey;
  }

  async #stands(key: string, kept: Kept): Promise<boolean> {
    if (performance.now() - kept.checkedMs < keptMs) return true;
    const peer = await this.#parts.pods.find(kept.peer.name);
    if (peer === null || peer.metadata.uid !== kept.peer.uid || startOf(peer) === null || hasEnded(peer))
      return false;
    this.#kept.set(key, { ...kept, checkedMs: performance.now() });
    return true;
  }

  async #make(
    request: SurveyRequest,
    signal?: AbortSignal,
  ): Promise<{ readonly survey: EgressSurvey; readonly peer: ObservedPod }> {
    const { config, owners, toolbox } = this.#parts;
    const [image, owner] = await Promise.all([toolbox(signal), owners.of(request.labels, signal)]);
    const podOf = (part: 'canary' | 'peer') => canaryPod(request, part, { image, owner, config: config.pod });
    const [canary, peer] = await Promise.all([
      this.#place(podOf('canary'), signal),
      this.#place(podOf('peer'), signal),
    ]);
    const supervised = this.#open(canary);
    try {
      const { hostIP, podIP } = peer.status;
      const [service, nameserver] = await Promise.all([serviceOf(supervised), nameserverFrom(supervised)]);
      const places = { server: this.#parts.pods.client.server, service, nameserver, peer: { hostIP, podIP } };
      const named = [clusterTargets(places), config.proof.targets, request.targets];
      const asked = await namesAndAddresses(distinctTargets(named));
      const targets = surveyed(asked, await this.#probe(supervised, asked, signal));
      this.#require(targets);
      return { survey: { targets, at: new Date().toISOString() }, peer };
    } finally {
      supervised.connections.close();
    }
  }

  /** One that has ended (with its lifetime, or its node) is made anew. */
  async #place(manifest: V1Pod, signal?: AbortSignal): Promise<ObservedPod> {
    const { pods } = this.#parts;
    const name = manifest.metadata?.name ?? '';
    const there = await pods.find(name, { signal });
    const stale =
      there !== null &&
      (hasEnded(there) || there.spec.containers[0]?.image !== manifest.spec?.containers[0]?.image);
    if (stale) await pods.remove(name);
    return place(this.#parts, manifest, signal);
  }

  #open(pod: ObservedPod): Supervised {
    const { name, uid } = pod.metadata;
    const { hostIP } = pod.status;
    const link = new PodLink(this.#parts, { name, uid, startedAt: lifeOf(pod) ?? '', hostIP, volumes: [] });
    const image = { user: '', workdir: '/', entrypoint: [] };
    return {
      link,
      connections: new Connections(link, null),
      facts: { image, env: {}, network: 'as-declared', baseline: false },
    };
  }

  /** Asked again while something does not answer: what is late is not shut. */
  async #probe(
    supervised: Supervised,
    targets: readonly ProofTarget[],
    signal?: AbortSignal,
  ): Promise<Probes> {
    const until = performance.now() + settleMs;
    for (;;) {
      const request = { op: 'proof', targets, timeoutMs: answerMs };
      const { response } = await recovering(supervised, 'canary', (connection) =>
        connection.exchange({ request, response: ProofResponse, signal }),
      );
      const probes = response.probes ?? [];
      const silent = unanswered(targets, probes);
      const required = silent.some((name) => this.#parts.config.proof.required.includes(name));
      // One more look for those that need not answer, all the time there is for those that must.
      const over = performance.now() + (required ? 0 : settleMs - answerMs) > until;
      if (silent.length === 0 || over) return probes;
      await sleep(againMs, undefined, { signal });
    }
  }

  #require(targets: EgressSurvey['targets']): void {
    const { config } = this.#parts;
    const reached = new Set(targets.filter(({ provable }) => provable).map(({ name }) => name));
    const missing = config.proof.required.filter((name) => !reached.has(name));
    if (missing.length === 0) return;
    const detailOf = (name: string): string =>
      targets.find((target) => target.name === name)?.detail ?? 'no such target';
    const told = missing.map((name) => `${name} (${detailOf(name)})`).join(', ');
    throw new ClassifiedError(
      'EgressUnprovable',
      `the canary in namespace ${config.namespace}, which the policy must let out, does not reach ${told}: see proof.required`,
    );
  }
}

/** Kubelets tell every container where the API server's Service is, whatever else they are told to leave out. */
async function serviceOf(
  supervised: Supervised,
): Promise<{ readonly host: string; readonly port: number } | null> {
  const { env } = await recovering(supervised, 'canary', (connection) => connection.greet());
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = Number(env['KUBERNETES_SERVICE_PORT']);
  return host === undefined || !Number.isInteger(port) ? null : { host, port };
}

async function nameserverFrom(supervised: Supervised): Promise<string | null> {
  let found: string | null = null;
  await getFiles(supervised, { paths: ['/etc/resolv.conf'], maxBytes: 64 * 1024 }, async (tar) => {
    const entries = extract();
    tar.on('error', (error) => entries.destroy(error));
    tar.pipe(entries);
    for await (const entry of entries) found ??= nameserverOf(await text(entry));
  });
  return found;
}
