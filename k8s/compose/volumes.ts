// Mounts of services as volumes of a pod: an empty folder that several share, memory, and a larger /dev/shm.
import type { V1Container, V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import { supervisorPath } from '../../sandbox/supervised/supervisor.ts';
import type { SandboxService, SandboxServices } from '../../sandbox/services/spec.ts';

type Mounting = Pick<SandboxService, 'mounts' | 'shmMiB'>;

/** The volume of each shared one, by its name in the task: the names of a pod are of another grammar. */
export function sharedVolumes({ main, sidecars }: SandboxServices): ReadonlyMap<string, string> {
  const names = new Set(
    [main, ...sidecars].flatMap(({ mounts }) =>
      mounts.flatMap((mount) => (mount.kind === 'volume' ? [mount.volume] : [])),
    ),
  );
  return new Map([...names].map((name, at) => [name, `shared-${at}`]));
}

export interface MountParts {
  readonly mounts: readonly V1VolumeMount[];
  /** Of this container alone. */
  readonly volumes: readonly V1Volume[];
}

/** What one container mounts. Folders and files of its own are no mounts: they are laid by its supervisor. */
export function mountParts(
  container: string,
  { mounts, shmMiB }: Mounting,
  shared: ReadonlyMap<string, string>,
): MountParts {
  const parts = mounts.flatMap((mount, at): { volume: V1Volume | null; mount: V1VolumeMount }[] => {
    switch (mount.kind) {
      case 'folder':
      case 'files':
        return [];
      case 'volume': {
        const name = shared.get(mount.volume) ?? mount.volume;
        const readOnly = mount.readOnly ? { readOnly: true } : {};
        return [{ volume: null, mount: { name, mountPath: mount.path, ...readOnly } }];
      }
      case 'tmpfs': {
        const name = `${container}-tmpfs-${at}`;
        return [{ volume: inMemory(name, mount.sizeMiB), mount: { name, mountPath: mount.path } }];
      }
    }
  });
  if (shmMiB !== null) {
    const name = `${container}-shm`;
    parts.push({ volume: inMemory(name, shmMiB), mount: { name, mountPath: '/dev/shm' } });
  }
  return {
    mounts: parts.map(({ mount }) => mount),
    volumes: parts.flatMap(({ volume }) => (volume === null ? [] : [volume])),
  };
}

/** Its pages are those of the container that writes them. */
function inMemory(name: string, sizeMiB: number | null): V1Volume {
  const limit = sizeMiB === null ? {} : { sizeLimit: `${Math.max(1, Math.ceil(sizeMiB))}Mi` };
  return { name, emptyDir: { medium: 'Memory', ...limit } };
}

/** Where the init container that fills a shared volume sees it. */
const seedPath = '/opt/passband/volume';

/**
 * A new volume begins with what the image of the first service that mounts it has at that place, owner and mode too.
 * Nothing of the task runs for that: our own program copies, in that image.
 */
export function seedContainers(
  services: readonly { readonly container: V1Container; readonly mounting: Mounting }[],
  shared: ReadonlyMap<string, string>,
): V1Container[] {
  return [...shared].flatMap(([volume, name]) => {
    for (const { container, mounting } of services) {
      const first = mounting.mounts.find((mount) => mount.kind === 'volume' && mount.volume === volume);
      if (first === undefined) continue;
      const { image, imagePullPolicy, securityContext, resources } = container;
      return [
        {
          name: `seed-${name}`,
          ...(image === undefined ? {} : { image }),
          ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
          command: [supervisorPath, 'copy', literal(first.path), seedPath],
          workingDir: '/',
          ...(securityContext === undefined ? {} : { securityContext }),
          ...(resources === undefined ? {} : { resources }),
          // What it complains of is read from the pod's status.
          terminationMessagePolicy: 'FallbackToLogsOnError',
          volumeMounts: [{ name, mountPath: seedPath }],
        },
      ];
    }
    return [];
  });
}

/** Kubernetes fills $(NAME) into commands and environments: a dollar that means itself is written twice. */
export const literal = (text: string): string => text.replaceAll('$', '$$$$');
