// The sandbox driver of a cluster: one pod a sandbox, closed by one policy, reached by the API server's exec alone.
import { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import type { Task } from '../domain/task.ts';
import type { EgressSurvey, SurveyRequest } from '../sandbox/egress.ts';
import {
  SandboxGone,
  type Sandbox,
  type SandboxDriver,
  type SandboxIdentity,
  type SandboxSpec,
  type ListedSandbox,
} from '../sandbox/port.ts';
import type { SandboxServices } from '../sandbox/services/spec.ts';
import { attach, bootOf } from '../sandbox/supervised/supervised-sandbox.ts';
import { Canary } from './canary.ts';
import { createClient, type Client } from './client.ts';
import { portsInTheWay } from './compose/image-ports.ts';
import { podWithServices } from './compose/sidecars.ts';
import type { KubernetesConfig } from './config.ts';
import { Controls } from './control.ts';
import { KubernetesImages } from './images/images.ts';
import { Registry, type RegistryFacts } from './images/registry.ts';
import { givenLabels, keptFacts, selectorOf, type KeptFacts } from './labels.ts';
import { Nodes } from './nodes.ts';
import { lifeOf, type ObservedPod } from './observed-pod.ts';
import { isOwner, Owners } from './owner.ts';
import { checkPermissions } from './permissions.ts';
import { place, startError, type PlaceParts } from './place.ts';
import { PodLink, type LinkedPod, type LinkParts } from './pod-link.ts';
import { deletedState, endOf, hasEnded } from './pod-state.ts';
import { podOf } from './pod-spec.ts';
import { Pods } from './pods.ts';
import { PodsWatch } from './pods-watch.ts';
import { kubernetesLacks } from './unsupported.ts';

const Version = z.object({ gitVersion: z.string() });

/** Pods that are removed at once. */
const removedAtOnce = 16;

/** InputError (exit 78) where no cluster is named. Nothing is asked of it yet. */
export function createKubernetesDriver(config: KubernetesConfig, env: NodeJS.ProcessEnv): SandboxDriver {
  return new KubernetesDriver(createClient(config, env), config, env);
}

class KubernetesDriver implements SandboxDriver {
  readonly name = 'kubernetes';
  readonly images: KubernetesImages;
  readonly #client: Client;
  readonly #config: KubernetesConfig;
  readonly #registry: Registry;
  readonly #owners: Owners;
  readonly #parts: PlaceParts & LinkParts;
  readonly #canary: Canary;
  /** Sandboxes of this process whose connections `close` ends. */
  readonly #open = new Set<Sandbox>();

  constructor(client: Client, config: KubernetesConfig, env: NodeJS.ProcessEnv) {
    this.#client = client;
    this.#config = config;
    this.#registry = new Registry(config.registry, env);
    this.#owners = new Owners(client, config.namespace);
    const images = new KubernetesImages(config, env);
    this.images = images;
    const pods = new Pods(client, config.namespace);
    const { placeSec, nodeGraceSec } = config;
    const placing = { pods, watch: new PodsWatch(pods), nodes: new Nodes(client), placeSec };
    this.#parts = { ...placing, controls: new Controls(placing, config.pod), nodeGraceSec };
    const toolbox = (signal?: AbortSignal) => images.toolbox(signal);
    this.#canary = new Canary({ ...this.#parts, config, owners: this.#owners, toolbox });
  }

  unsupported(task: Pick<Task, 'needs' | 'networkMode'>, network: 'deny' | 'as-declared'): readonly string[] {
    return kubernetesLacks(task, network);
  }

  async create(spec: SandboxSpec, signal?: AbortSignal): Promise<Sandbox> {
    const [image, owner, userNamespaces] = await Promise.all([
      this.#registry.facts(spec.image, signal),
      this.#owners.of(spec.labels, signal),
      this.#userNamespaces(),
    ]);
    const { services } = spec;
    const config = this.#config.pod;
    const pod = { spec, config, owner, userNamespaces };
    const manifest =
      services === undefined
        ? podOf({ ...pod, image })
        : podWithServices({ ...pod, image, services, images: await this.#factsOf(services, signal) });
    const placed = await place(this.#parts, manifest, signal);
    try {
      return await this.#attach(placed, { name: spec.name, bootId: null });
    } catch (error) {
      throw await startError(this.#parts.pods, placed, error);
    }
  }

  async clash(services: SandboxServices, signal?: AbortSignal): Promise<string | null> {
    return portsInTheWay(services, await this.#factsOf(services, signal));
  }

  async open(expected: SandboxIdentity): Promise<Sandbox> {
    const { name, uid, bootId } = expected;
    const pod = await this.#parts.pods.find(name);
    if (pod === null) throw new SandboxGone(deletedState(name));
    const { hostIP } = pod.status;
    const { startedAt } = bootOf(bootId);
    const link = new PodLink(this.#parts, { name, uid, startedAt, hostIP, volumes: [] });
    const state = await link.state();
    if (state.kind !== 'alive') throw new SandboxGone(state);
    return this.#attach(pod, { name, bootId });
  }

  async destroy(name: string): Promise<void> {
    if (isOwner(name)) return this.#owners.remove(name);
    await this.#parts.pods.remove(name);
    for (const sandbox of this.#open) {
      if (sandbox.identity.name === name) await sandbox.close();
    }
  }

  async list(wanted: Readonly<Record<string, string>>): Promise<readonly ListedSandbox[]> {
    let pods: Promise<readonly ObservedPod[]> | undefined;
    const list = () => (pods ??= this.#parts.pods.list(selectorOf(wanted)));
    const idle = await this.#owners.idle(wanted, list);
    const sandboxes = (await list())
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => ({
        name: metadata.name,
        labels: givenLabels(metadata.annotations) ?? {},
        createdAt: metadata.creationTimestamp,
      }));
    return [...sandboxes, ...idle];
  }

  surveyEgress(request: SurveyRequest, signal?: AbortSignal): Promise<EgressSurvey> {
    return this.#canary.survey(request, signal);
  }

  async removeAll(labels: Readonly<Record<string, string>>): Promise<void> {
    // The owners first: what another worker is making just now goes with them.
    await this.#owners.removeAll(labels);
    this.#canary.forget();
    const names = (await this.#parts.pods.list(selectorOf(labels))).map(({ metadata }) => metadata.name);
    const queue = names.values();
    const work = async (): Promise<void> => {
      for (const name of queue) await this.destroy(name);
    };
    await Promise.all(Array.from({ length: removedAtOnce }, work));
  }

  /** Also ClassifiedError `Forbidden`, with every right that is missing. */
  async check(): Promise<{ readonly version: string; readonly endpoint: string }> {
    const { gitVersion } = await this.#client.call({ what: 'its version', path: '/version' }, Version);
    const missing = await this.#missingRights();
    if (missing.length > 0) {
      throw new ClassifiedError('Forbidden', `the cluster gives us no ${missing.join('; no ')}`);
    }
    return { version: `Kubernetes ${gitVersion}`, endpoint: this.#client.server };
  }

  async close(): Promise<void> {
    // A build that nobody waits for any more would leave its folders behind with this process.
    this.images.close();
    this.#parts.watch.close();
    for (const sandbox of this.#open) await sandbox.close();
    await this.#client.close();
  }

  async #missingRights(): Promise<readonly string[]> {
    return checkPermissions(this.#client, this.#config.namespace);
  }

  /** `auto`: where the runtime of every node says that it has them. */
  async #userNamespaces(): Promise<boolean> {
    const { userNamespaces, runtimeClassName } = this.#config.pod;
    if (userNamespaces !== 'auto') return userNamespaces === 'always';
    return this.#parts.nodes.haveUserNamespaces(runtimeClassName ?? null);
  }

  /** What the images of the sidecars say, by service. */
  async #factsOf(
    { sidecars }: SandboxServices,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, RegistryFacts>> {
    const facts = sidecars.map(
      async ({ name, image }) => [name, await this.#registry.facts(image, signal)] as const,
    );
    return new Map(await Promise.all(facts));
  }

  async #attach(
    pod: ObservedPod,
    { name, bootId }: { readonly name: string; readonly bootId: string | null },
  ): Promise<Sandbox> {
    const { metadata, status, spec } = pod;
    const kept = keptFacts(metadata.annotations);
    if (kept === null)
      throw new ClassifiedError('Unexpected', `pod ${name} says nothing of what it was made for`);
    const startedAt = lifeOf(pod);
    if (startedAt === null) {
      throw new SandboxGone(hasEnded(pod) ? endOf(pod) : deletedState(name));
    }
    const linked = { name, uid: metadata.uid, startedAt, hostIP: status.hostIP, volumes: kept.volumes };
    const facts = { image: kept.image, env: kept.env, network: kept.network, baseline: kept.baseline };
    const identity = {
      ...{ name, driver: this.name, uid: metadata.uid, host: spec.nodeName },
      ...{ imageDigest: kept.imageDigest, bootId },
    };
    const services = await this.#attachServices(kept, linked, identity);
    try {
      const link = new PodLink(this.#parts, linked);
      const onClose = (closed: Sandbox) => this.#open.delete(closed);
      const sandbox = await attach(link, facts, identity, { onClose, services });
      this.#open.add(sandbox);
      return sandbox;
    } catch (error) {
      await closeAll(services.values());
      throw error;
    }
  }

  /**
   * Those that are still there. `linked` says which ones they are: another in the place of one is another life of the
   * whole sandbox, and each is asked for the container that it was made in.
   */
  async #attachServices(
    { services, network }: KeptFacts,
    linked: LinkedPod,
    identity: Omit<SandboxIdentity, 'bootId'>,
  ): Promise<ReadonlyMap<string, Sandbox>> {
    const attachOne = async ({ name, container, image, imageDigest }: KeptFacts['services'][number]) => {
      const link = new PodLink(this.#parts, { ...linked, volumes: [], service: { name, container } });
      const own = { ...identity, name: `${linked.name}/${name}`, imageDigest, bootId: null };
      return [name, await attach(link, { image, env: {}, network, baseline: false }, own)] as const;
    };
    const settled = await Promise.allSettled(services.map(attachOne));
    // In the order of the task, whichever came first.
    const attached = new Map(settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])));
    const failed = settled.find((one) => one.status === 'rejected' && !(one.reason instanceof SandboxGone));
    // Where the pod itself is gone, its own container tells.
    if (failed?.status !== 'rejected') return attached;
    await closeAll(attached.values());
    throw failed.reason;
  }
}

async function closeAll(sandboxes: Iterable<Sandbox>): Promise<void> {
  for (const sandbox of sandboxes) await sandbox.close();
}
