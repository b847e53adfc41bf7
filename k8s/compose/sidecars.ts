// The pod of a task of several containers, as a pure function of the pod of its main one and of its services.
import type { V1Container, V1Pod } from '@kubernetes/client-node';
import { supervisorPath } from '../../sandbox/supervised/supervisor.ts';
import { boundsArguments } from '../../sandbox/supervised/bounds.ts';
import type { SandboxSpec } from '../../sandbox/port.ts';
import type { ImageFacts } from '../../sandbox/supervised/facts.ts';
import type { KubernetesConfig } from '../config.ts';
import { pinned } from '../images/images.ts';
import { keptFacts, keys, type KeptFacts } from '../labels.ts';
import { forgetting, podOf, resourcesOf, securityOf, type PodImage, type PodRequest } from '../pod-spec.ts';
import type { SandboxService, SandboxServices } from '../../sandbox/services/spec.ts';
import { literal, mountParts, seedContainers, sharedVolumes } from './volumes.ts';

export interface ServicesRequest {
  readonly spec: Pick<SandboxSpec, 'diskMiB' | 'pids'>;
  readonly services: SandboxServices;
  /** What the images of the sidecars say, by service. */
  readonly images: ReadonlyMap<string, ImageFacts>;
  readonly config: Pick<KubernetesConfig['pod'], 'requestedCpus'>;
}

/** The container of a sidecar; the main one has a name of its own. */
export function containerOf(services: Pick<SandboxServices, 'sidecars'>, service: string): string {
  const at = services.sidecars.findIndex(({ name }) => name === service);
  if (at < 0) throw new RangeError(`the sandbox has no service ${service}`);
  const slug = service
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40);
  return `s${at}-${slug}`.replace(/-$/, '');
}

/** The main container's image as its pod is to take it: the user that the task gives it, and mounts beside volumes. */
export function mainImage(image: PodImage, { main }: SandboxServices): PodImage {
  const mounted = main.mounts.flatMap(({ kind, path }) =>
    kind === 'volume' || kind === 'tmpfs' ? [path] : [],
  );
  return {
    ...image,
    user: main.user ?? image.user,
    volumes: [...new Set([...image.volumes, ...mounted])],
  };
}

/** The pod of a sandbox with its services, and what a worker that did not create it must know of them. */
export function podWithServices(request: PodRequest & Omit<ServicesRequest, 'config' | 'spec'>): V1Pod {
  const { image, services, images } = request;
  const pod = withServices(podOf({ ...request, image: mainImage(image, services) }), request);
  const facts = keptFacts(pod.metadata?.annotations ?? {});
  if (facts === null) throw new TypeError('the pod of a sandbox says what it was made for');
  const whole: KeptFacts = {
    ...facts,
    services: services.sidecars.map((service) => keptService(service, services, factsOf(images, service))),
  };
  const annotations = { ...pod.metadata?.annotations, [keys.facts]: JSON.stringify(whole) };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

function keptService(
  { name, image, user, workdir }: SandboxService,
  services: SandboxServices,
  facts: ImageFacts,
): KeptFacts['services'][number] {
  return {
    name,
    container: containerOf(services, name),
    imageDigest: image.digest,
    image: {
      user: user ?? facts.user,
      workdir: workdir ?? facts.workdir,
      entrypoint: [...facts.entrypoint],
      command: [...(facts.command ?? [])],
      healthcheck: facts.healthcheck ?? null,
    },
  };
}

function factsOf(images: ServicesRequest['images'], { name }: SandboxService): ImageFacts {
  const facts = images.get(name);
  if (facts === undefined) throw new RangeError(`nothing is known of the image of ${name}`);
  return facts;
}

/**
 * Adds the services to the pod of a sandbox (pod-spec.ts). Each sidecar has our supervisor as PID 1 and does nothing
 * before it is told to: what the task starts in it, it starts behind the network barrier.
 */
export function withServices(pod: V1Pod, request: ServicesRequest): V1Pod {
  const { services } = request;
  const [main, ...others] = pod.spec?.containers ?? [];
  if (main === undefined || others.length > 0) throw new TypeError('the pod of a sandbox has one container');
  const shared = sharedVolumes(services);
  const ofMain = mountParts('main', services.main, shared);
  const sidecars = services.sidecars.map((service) => {
    const name = containerOf(services, service.name);
    const parts = mountParts(name, service, shared);
    return { mounting: service, container: sidecarOf(name, service, request), parts };
  });
  const mounted = [{ mounting: services.main, container: main, parts: ofMain }, ...sidecars];
  const containers = mounted.map(({ container, parts: { mounts } }) =>
    mounts.length === 0 ? container : { ...container, volumeMounts: [...mounts] },
  );
  const seeds = seedContainers(mounted, shared);
  const volumes = [
    ...[...shared.values()].map((name) => ({ name, emptyDir: {} })),
    ...mounted.flatMap(({ parts }) => parts.volumes),
  ];
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers,
      hostAliases: services.hosts.map(({ address, names }) => ({ ip: address, hostnames: [...names] })),
      ...(seeds.length === 0 ? {} : { initContainers: seeds }),
      ...(volumes.length === 0 ? {} : { volumes }),
    },
  };
}

function sidecarOf(
  name: string,
  service: SandboxService,
  { spec, images, config }: ServicesRequest,
): V1Container {
  const image = factsOf(images, service);
  const user = service.user ?? image.user;
  const workdir = literal(service.workdir ?? image.workdir);
  return {
    name,
    image: pinned(service.image),
    imagePullPolicy: 'IfNotPresent',
    command: [
      supervisorPath,
      'init',
      '--workdir',
      workdir,
      ...(user === '' ? [] : ['--user', literal(user)]),
      ...forgetting,
      ...boundsArguments(spec),
    ],
    workingDir: '/',
    env: Object.entries(service.env).map(([key, value]) => ({ name: key, value: literal(value) })),
    securityContext: securityOf(user),
    resources: resourcesOf({ ...service, diskMiB: spec.diskMiB }, config, requestedDiskMiB),
    terminationMessagePath: '/dev/termination-log',
  };
}

/** What a sidecar asks of its node's disk; what it may use is what the task may. */
const requestedDiskMiB = 64;
