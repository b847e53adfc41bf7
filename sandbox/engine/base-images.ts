// `passband images base`: a base image from this machine (a folder, a tar, debootstrap), where no registry answers.
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ClassifiedError, InputError } from '../../domain/errors.ts';
import type { BaseRequest } from '../images/base-request.ts';
import { kindOf, tarOfFolder } from '../images/base-tar.ts';
import { debootstrap } from '../images/debootstrap.ts';
import type { Endpoint } from './endpoint.ts';
import { Engine } from './engine.ts';
import { messageOf, NotThere } from './engine-errors.ts';
import { followLog, pullImage } from './pull.ts';

/** A registry that gives a base image begins within this time; one that nobody reaches is not waited for. */
const pullLimitMs = 120_000;

/** Whether the engine holds what FROM NAME means; with `pull`, after trying to get it from its registry. */
export async function hasBase(endpoint: Endpoint, name: string, pull = false): Promise<boolean> {
  const engine = new Engine(endpoint);
  const reference = await referenceOf(engine, name);
  const held = await holds(engine, reference);
  if (held || !pull) return held;
  const signal = AbortSignal.timeout(pullLimitMs);
  try {
    await pullImage(engine, reference, signal);
  } catch (error) {
    const noImage = error instanceof ClassifiedError && error.failureClass !== 'PlatformUnavailable';
    if (noImage || signal.aborted) return false;
    throw error;
  }
  return holds(engine, reference);
}

async function holds(engine: Engine, reference: string): Promise<boolean> {
  try {
    await engine.inspectImage(reference);
    return true;
  } catch (error) {
    if (error instanceof NotThere) return false;
    throw error;
  }
}

/** Makes the image and names it; the reference that the engine holds it under. */
export async function registerBase(
  endpoint: Endpoint,
  { name, source }: BaseRequest,
  say: (line: string) => void = () => undefined,
  signal?: AbortSignal,
): Promise<string> {
  const engine = new Engine(endpoint);
  const reference = await referenceOf(engine, name);
  switch (source.kind) {
    case 'folder':
      await importFolder(engine, source.path, reference);
      break;
    case 'tar':
      await importTar(engine, source.path, reference);
      break;
    case 'debootstrap': {
      const dir = await mkdtemp(join(tmpdir(), 'passband-base-'));
      try {
        const root = await debootstrap(join(dir, 'root'), source, say, signal);
        await importFolder(engine, root, reference);
      } finally {
        await rm(dir, { recursive: true, force: true });
      }
      break;
    }
  }
  const { id } = await engine.inspectImage(reference);
  say(`${name}: ${id}`);
  return reference;
}

/** What FROM NAME resolves to: Podman spells out the registry that Docker leaves away. */
async function referenceOf(engine: Engine, name: string): Promise<string> {
  const tagged = name.slice(name.lastIndexOf('/') + 1).includes(':') ? name : `${name}:latest`;
  if (!(await engine.version()).podman) return tagged;
  const [first = '', ...rest] = tagged.split('/');
  if (rest.length === 0) return `docker.io/library/${tagged}`;
  return /[.:]|^localhost$/.test(first) ? tagged : `docker.io/${tagged}`;
}

async function importFolder(engine: Engine, dir: string, reference: string): Promise<void> {
  const { tar, ended } = tarOfFolder(dir);
  await Promise.all([importRoot(engine, tar, reference), ended]);
}

async function importTar(engine: Engine, path: string, reference: string): Promise<void> {
  const { archive, gzip } = await kindOf(path);
  const content = gzip ? createReadStream(path).pipe(createGunzip()) : createReadStream(path);
  if (!archive) return importRoot(engine, content, reference);
  let loaded = '';
  try {
    await followLog(await engine.docker.loadImage(content), (text) => (loaded += text));
  } catch (error) {
    throw new InputError(`${path}: the engine cannot load it: ${messageOf(error)}`);
  }
  const image = /Loaded image(?:s)?(?: ID)?:\s*([^\s,]+)/.exec(loaded)?.[1];
  if (image === undefined) throw new InputError(`${path}: the engine loaded it and named no image`);
  await name(engine, image, reference);
}

/** Makes a one-layer image of a root file system. */
async function importRoot(engine: Engine, tar: Readable, reference: string): Promise<void> {
  const changes = [
    'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    'CMD ["/bin/sh"]',
  ];
  try {
    // Named afterwards: Podman would name it `latest`, whatever tag it is told, and take that from another image.
    const id = await followLog(await engine.docker.importImage(tar, { changes }), () => undefined);
    await name(engine, id, reference);
  } catch (error) {
    throw new InputError(`${reference}: the engine cannot import it: ${messageOf(error)}`);
  }
}

async function name(engine: Engine, image: string, reference: string): Promise<void> {
  const at = reference.lastIndexOf(':');
  await engine.docker.getImage(image).tag({ repo: reference.slice(0, at), tag: reference.slice(at + 1) });
}
