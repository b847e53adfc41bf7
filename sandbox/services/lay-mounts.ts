// Folders and files of a service laid into its container before it starts: once, whichever attempt does it.
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { pack } from 'tar-stream';
import type { Mount } from '../../domain/services.ts';
import type { Sandbox } from '../port.ts';

/** A file or folder of the task's package. */
export interface BoundFiles {
  readonly isFolder: boolean;
  /** What is in the folder; of a file, the one entry under the name that it is to have. */
  readonly tar: (name: string) => Readable;
}

/** Stands in the root of a container whose mounts are laid: its service may have begun, and have written to them. */
export const laidMarker = '.passband-laid';

/**
 * Lays what is no volume of the pod. A service is started only after this has returned, so where the marker is missing
 * nothing of it has begun, and everything is laid again.
 */
export async function layMounts(
  container: Pick<Sandbox, 'putFiles' | 'listNames'>,
  mounts: readonly Mount[],
  files: (source: string) => BoundFiles,
): Promise<void> {
  const laid = mounts.filter(({ kind }) => kind === 'folder' || kind === 'files');
  if (laid.length === 0) return;
  const names = await container.listNames(['/']);
  if (names.get('/')?.includes(laidMarker) === true) return;
  for (const mount of laid) {
    if (mount.kind === 'folder') {
      // Made where it is missing; what the image has there stays as it is.
      await container.putFiles(() => archive(null), { dir: mount.path, replace: false, owner: null });
    } else if (mount.kind === 'files') {
      const { isFolder, tar } = files(mount.source);
      const [dir, name] = isFolder
        ? [mount.path, '.']
        : [posix.dirname(mount.path), posix.basename(mount.path)];
      await container.putFiles(() => tar(name), { dir, replace: isFolder, owner: null });
    }
  }
  await container.putFiles(() => archive(laidMarker), { dir: '/', replace: false, owner: null });
}

/** Of one empty file, or of nothing. */
function archive(name: string | null): Readable {
  const tar = pack();
  if (name !== null) tar.entry({ name, mode: 0o600, uid: 0, gid: 0, mtime: new Date(0) }, '');
  tar.finalize();
  return Readable.from(tar);
}
