// Volumes of all services together: one that a single place mounts is a folder there, one of two places is shared.
import type { Mount } from '../../domain/services.ts';
import { isWithin } from '../files.ts';
import type { ComposeFile } from './compose-file.ts';
import { isTable, type Table } from './document.ts';
import { asksNothing } from './keys.ts';
import type { WrittenMount } from './mounts.ts';

/** The mounts of each service by its name; what cannot be shared in a pod as the file says is refused. */
export function resolveMounts(
  file: ComposeFile,
  written: ReadonlyMap<string, readonly WrittenMount[]>,
  declared: Table,
): ReadonlyMap<string, Mount[]> {
  const all = [...written.values()].flat();
  const uses = new Map<string, number>();
  for (const mount of all) {
    if (mount.kind !== 'named') continue;
    uses.set(mount.volume, (uses.get(mount.volume) ?? 0) + 1);
    checkDeclared(file, mount, declared);
  }
  checkSharedFiles(file, all);
  const resolved = (mount: WrittenMount): Mount => {
    switch (mount.kind) {
      case 'tmpfs':
        return { kind: 'tmpfs', path: mount.path, sizeMiB: mount.sizeMiB };
      case 'files':
        return { kind: 'files', source: mount.source, path: mount.path };
      case 'named':
        return uses.get(mount.volume) === 1
          ? { kind: 'folder', path: mount.path }
          : { kind: 'volume', volume: mount.volume, path: mount.path, readOnly: mount.readOnly };
    }
  };
  return new Map([...written].map(([name, mounts]) => [name, mounts.map(resolved)]));
}

function checkDeclared(
  file: ComposeFile,
  mount: Extract<WrittenMount, { kind: 'named' }>,
  declared: Table,
): void {
  const { volume, at } = mount;
  if (volume.startsWith('./') || volume.startsWith('anonymous ')) return;
  if (!Object.hasOwn(declared, volume)) {
    file.fail(at, `names the volume ${volume}, which the file does not declare`);
    return;
  }
  const table = declared[volume];
  if (!isTable(table)) return;
  const key = ['volumes', volume];
  if (!asksNothing(table['external'])) {
    file.refuse([...key, 'external'], `external volume ${volume}`, 'there is nothing beside the task');
  }
  const { driver } = table;
  if (typeof driver === 'string' && driver !== 'local') {
    file.refuse([...key, 'driver'], `volume driver ${driver}`, 'a volume is an empty folder of the pod');
  }
  if (!asksNothing(table['driver_opts'])) {
    file.refuse([...key, 'driver_opts'], 'volume driver_opts', 'a volume is an empty folder of the pod');
  }
}

/** Each service gets a copy of the files that it binds: what one writes the others would not see. */
function checkSharedFiles(file: ComposeFile, all: readonly WrittenMount[]): void {
  const bound = all.flatMap((mount) => (mount.kind === 'files' ? [mount] : []));
  for (const mount of bound) {
    const other = bound.find(
      (one) => one !== mount && (isWithin(one.source, mount.source) || isWithin(mount.source, one.source)),
    );
    if (other === undefined || mount.readOnly) continue;
    file.refuse(
      mount.at,
      `writable bind mount of ${mount.source} at two places`,
      'each has a copy of its own: say :ro, or use a named volume',
    );
  }
}
