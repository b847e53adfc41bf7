// The services beside a sandbox's own container: what a spec says of them, from the task and the images that were made for it.
import type { Image } from '../../domain/gate.ts';
import { defaultSidecar, type Mount, type ServicePort, type TaskServices } from '../../domain/services.ts';

export interface SandboxService {
  /** As the task names it. */
  readonly name: string;
  readonly image: Image;
  /** Added to the image's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Null: the image's. */
  readonly workdir: string | null;
  /** A name or an id, `:GROUP` after it or not; null: the image's. */
  readonly user: string | null;
  readonly cpus: number;
  readonly memoryMiB: number;
  readonly mounts: readonly Mount[];
  /** Size of /dev/shm; null: the platform's. */
  readonly shmMiB: number | null;
  /** What the task says that it listens on. */
  readonly ports: readonly ServicePort[];
  /** It starts what its image says, neither command nor entrypoint of its own. */
  readonly startsImage: boolean;
}

/** Everything beside `main` that decides a sandbox: a part of its spec's digest. */
export interface SandboxServices {
  readonly main: Pick<SandboxService, 'user' | 'mounts' | 'shmMiB' | 'ports'>;
  readonly sidecars: readonly SandboxService[];
  /** Lines of /etc/hosts, of all containers. */
  readonly hosts: readonly { readonly address: string; readonly names: readonly string[] }[];
}

/** `images`: of the sidecars, by service. @throws RangeError where one is missing */
export function sandboxServices(
  { main, sidecars, hosts }: TaskServices,
  images: ReadonlyMap<string, Image>,
): SandboxServices {
  return {
    main: { user: main.user, mounts: main.mounts, shmMiB: main.shmMiB, ports: main.ports },
    sidecars: sidecars.map((service) => {
      const { name, env, workdir, user, mounts, shmMiB, ports, entrypoint, command } = service;
      const image = images.get(name);
      if (image === undefined) throw new RangeError(`there is no image of service ${name}`);
      return {
        ...{ name, image, env, workdir, user, mounts, shmMiB, ports },
        cpus: service.cpus ?? defaultSidecar.cpus,
        memoryMiB: service.memoryMiB ?? defaultSidecar.memoryMiB,
        startsImage: entrypoint === null && command === null,
      };
    }),
    hosts,
  };
}
