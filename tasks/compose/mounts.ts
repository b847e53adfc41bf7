// What a service mounts: each entry of volumes and tmpfs told apart, and what one pod cannot mount refused.
import { posix } from 'node:path';
import { isHidden, isWithin } from '../files.ts';
import { parseBytesAsMiB } from './amounts.ts';
import type { ComposeFile } from './compose-file.ts';
import type { KeyPath } from './document.ts';
import { insideTask } from './environment.ts';
import type { ServiceTable, VolumeEntry } from './schema.ts';
import { hostLogs } from './variables.ts';

/** A mount before it is known who else mounts the same. */
export type WrittenMount = { readonly at: KeyPath; readonly path: string } & (
  | { readonly kind: 'named'; readonly volume: string; readonly readOnly: boolean }
  | { readonly kind: 'tmpfs'; readonly sizeMiB: number | null }
  | { readonly kind: 'files'; readonly source: string; readonly readOnly: boolean }
);

/** Made, or watched over, by the platform or by the supervisor: nothing of a task may lie over them. */
const reserved = [
  '/proc',
  '/sys',
  '/dev',
  '/opt/passband',
  '/etc/hosts',
  '/etc/hostname',
  '/etc/resolv.conf',
];
/** In the agent's own container the harness lays these itself. */
const harness = ['/tests', '/solution', '/logs'];

export interface Mounting {
  readonly name: string;
  readonly table: ServiceTable;
  readonly isMain: boolean;
}

export function mountsOf(file: ComposeFile, mounting: Mounting): WrittenMount[] {
  const at = ['services', mounting.name];
  const written = [
    ...mounting.table.volumes.flatMap((entry, index) => {
      const key = [...at, 'volumes', index];
      const volume = typeof entry === 'string' ? shortVolume(file, key, entry) : longVolume(file, key, entry);
      return volume === null ? [] : (placed(file, key, volume, mounting) ?? []);
    }),
    ...mounting.table.tmpfs.flatMap((entry, index) => {
      const [path = '', options = ''] = entry.split(':');
      const size = /(?:^|,)size=([^,]+)/.exec(options)?.[1];
      const sizeMiB = size === undefined ? null : parseBytesAsMiB(size);
      const key = [...at, 'tmpfs', index];
      return allowed(file, key, path, mounting)
        ? [{ at: key, kind: 'tmpfs' as const, path: clean(path), sizeMiB }]
        : [];
    }),
  ];
  const paths = new Set<string>();
  for (const { at: key, path } of written) {
    if (paths.has(path)) file.fail(key, `mounts a second thing at ${path}`);
    paths.add(path);
  }
  return written;
}

interface Volume {
  readonly type: 'volume' | 'bind' | 'tmpfs';
  readonly source: string | null;
  readonly target: string;
  readonly readOnly: boolean;
  readonly sizeMiB: number | null;
}

const harmless = ['ro', 'rw', 'z', 'Z', 'cached', 'delegated', 'consistent'];

function shortVolume(file: ComposeFile, at: KeyPath, entry: string): Volume | null {
  const [first = '', second, options = ''] = entry.split(':');
  const common = { readOnly: false, sizeMiB: null };
  if (second === undefined) return { ...common, type: 'volume', source: null, target: first };
  const strange = options.split(',').find((option) => option !== '' && !harmless.includes(option));
  if (strange !== undefined) {
    file.refuse(at, `volume option ${strange}`, 'a pod’s volumes do not have it');
    return null;
  }
  const readOnly = options.split(',').includes('ro');
  return {
    ...common,
    type: /^[./~]/.test(first) ? 'bind' : 'volume',
    source: first,
    target: second,
    readOnly,
  };
}

function longVolume(file: ComposeFile, at: KeyPath, entry: Exclude<VolumeEntry, string>): Volume | null {
  const { type, source = null, target, read_only: readOnly, volume, tmpfs } = entry;
  if (type === 'image' || type === 'npipe' || type === 'cluster') {
    file.refuse([...at, 'type'], `volume of type ${type}`, 'a pod cannot be relied on to have it');
    return null;
  }
  if (volume?.nocopy === true || volume?.subpath !== undefined) {
    file.refuse([...at, 'volume'], 'volume options', 'a pod’s volumes do not have them');
    return null;
  }
  return { type, source, target, readOnly, sizeMiB: tmpfs?.size ?? null };
}

function placed(file: ComposeFile, at: KeyPath, volume: Volume, mounting: Mounting): WrittenMount | null {
  const { type, source, target, readOnly, sizeMiB } = volume;
  const path = clean(target);
  if (isDropped(file, volume, mounting)) return null;
  if (!allowed(file, at, target, mounting)) return null;
  if (type === 'tmpfs') return { at, kind: 'tmpfs', path, sizeMiB };
  if (type === 'volume')
    return { at, kind: 'named', path, volume: source ?? `anonymous ${at.join('.')}`, readOnly };
  return bound(file, at, { source: source ?? '', path, readOnly });
}

function bound(
  file: ComposeFile,
  at: KeyPath,
  { source, path, readOnly }: { readonly source: string; readonly path: string; readonly readOnly: boolean },
): WrittenMount | null {
  const inside = insideTask(source);
  if (inside === null) {
    const why = isWithin(source, hostLogs)
      ? 'only main’s logs are kept'
      : 'nothing of the host is in a sandbox';
    file.refuse(at, `bind mount of ${isWithin(source, hostLogs) ? 'the harness’s logs' : source}`, why);
    return null;
  }
  const { files } = file.layout.folder;
  if (isHidden(inside) || files.some((one) => isHidden(one.path) && isWithin(one.path, inside))) {
    file.refuse(at, `bind mount of ${source}`, 'it holds tests or solutions');
    return null;
  }
  const found = files.find((one) => one.path === inside);
  // An engine makes an empty folder on its host where there is none: a volume by that name is the same.
  if (found === undefined) return { at, kind: 'named', path, volume: `./${inside}`, readOnly };
  if (found.kind === 'symlink') {
    file.refuse(at, `bind mount of the link ${source}`, 'name what it leads to');
    return null;
  }
  return { at, kind: 'files', source: inside, path, readOnly };
}

/** The harness's own folders for logs, bound into main: it makes and keeps /logs by itself. */
function isDropped(file: ComposeFile, { type, source, target }: Volume, { isMain }: Mounting): boolean {
  if (!isMain || type === 'tmpfs') return false;
  const fromHarness = source !== null && isWithin(source, hostLogs);
  const inside = type === 'bind' && source !== null ? insideTask(source) : null;
  const absent = inside !== null && !file.layout.folder.files.some(({ path }) => path === inside);
  return fromHarness || (absent && isWithin(clean(target), '/logs'));
}

function allowed(file: ComposeFile, at: KeyPath, target: string, { isMain }: Mounting): boolean {
  if (!target.startsWith('/')) {
    file.fail(at, `mounts at ${target}, which is no absolute path`);
    return false;
  }
  const path = clean(target);
  const taken = [...reserved, ...(isMain ? harness : [])].find(
    (one) => isWithin(path, one) || isWithin(one, path) || path === '/',
  );
  if (taken !== undefined) file.refuse(at, `mount at ${path}`, `${taken} is not the task’s to mount over`);
  return taken === undefined;
}

const clean = (path: string): string => (path === '/' ? path : posix.normalize(path).replace(/\/$/, ''));
