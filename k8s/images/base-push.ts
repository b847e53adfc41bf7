// `passband images base` for a cluster: a base image from this machine, pushed where its name's mirror looks for it.
import { createReadStream, createWriteStream } from 'node:fs';
import { copyFile, link, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { InputError } from '../../domain/errors.ts';
import type { BaseRequest } from '../../sandbox/images/base-request.ts';
import { kindOf, tarOfFolder } from '../../sandbox/images/base-tar.ts';
import { debootstrap } from '../../sandbox/images/debootstrap.ts';
import type { KubernetesConfig } from '../config.ts';
import { layOut } from './archive-layout.ts';
import { BuildKit } from './buildkit.ts';
import { inContextFolder } from './context-folder.ts';
import { parseReference, spell, type Reference } from './reference.ts';
import { placeOf, type RegistryConfig, type RegistryPlace } from './registry-place.ts';

/** A root file system of gigabytes is compressed and sent on its way. */
const timeoutMs = 30 * 60_000;

const rootDockerfile =
  'FROM scratch\nADD root.tar /\nENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nCMD ["/bin/sh"]\n';

export interface PushContext {
  readonly config: KubernetesConfig;
  readonly env: NodeJS.ProcessEnv;
  /** Told of each step, for people. */
  readonly say: (line: string) => void;
}

/** Builds a folder that holds a Dockerfile; the digest of what was pushed. */
type Build = (folder: string, more?: readonly string[]) => Promise<string>;

/**
 * Pushes the base: what its name means from now on, by digest.
 * @throws InputError where no registry of ours answers for the name, or the source is none; ClassifiedError as a build's
 */
export async function pushBase(
  { name, source }: BaseRequest,
  { config, env, say }: PushContext,
  signal?: AbortSignal,
): Promise<string> {
  const { parsed, place } = targetOf(name, config.registry);
  const target = `${place.host}/${place.repository}:${parsed.tag ?? 'latest'}`;
  const registry = { ...config.registry, insecure: place.url.startsWith('http:') };
  const buildkit = new BuildKit({ ...config, registry }, env);
  const build: Build = (folder, more = []) => {
    const request = { name: target, folder, dockerfile: 'Dockerfile', offline: true, more };
    return buildkit.build({ ...request, timeoutMs, late: 'PlatformUnavailable' }, signal);
  };
  const dir = await mkdtemp(join(tmpdir(), 'passband-base-'));
  try {
    const digest = await made(source, dir, { build, say, signal });
    say(`${name}: ${target}@${digest}`);
    return `${spell(parsed)}@${digest}`;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** @throws InputError where the name is none, or its registry is not one that we push to */
export function targetOf(
  name: string,
  config: RegistryConfig,
): { readonly parsed: Reference; readonly place: RegistryPlace } {
  const parsed = parseReference(name);
  if (parsed === null) throw new InputError(`${name} is not the name of an image`);
  const place = placeOf(parsed, config);
  if (place.known) return { parsed, place };
  throw new InputError(
    `${name}: nothing stands in for ${parsed.host}: name a mirror of it (registry.mirrors) that BuildKit asks too, or an image below ${config.repository}`,
  );
}

interface Making {
  readonly build: Build;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal | undefined;
}

async function made(
  source: BaseRequest['source'],
  dir: string,
  { build, say, signal }: Making,
): Promise<string> {
  const context = join(dir, 'context');
  const root = join(context, 'root.tar');
  await mkdir(context);
  await writeFile(join(context, 'Dockerfile'), rootDockerfile);
  switch (source.kind) {
    case 'folder':
      await writeFolder(source.path, root);
      return build(context);
    case 'debootstrap':
      await writeFolder(await debootstrap(join(dir, 'root'), source, say, signal), root);
      return build(context);
    case 'tar': {
      const { archive, gzip } = await kindOf(source.path);
      if (archive) return pushArchive(source.path, gzip, { context, build });
      // A link in a context is not followed; ADD unpacks a gzipped tar too.
      const path = await realpath(source.path);
      await link(path, root).catch(() => copyFile(path, root));
      return build(context);
    }
  }
}

async function writeFolder(folder: string, path: string): Promise<void> {
  const { tar, ended } = tarOfFolder(folder);
  await Promise.all([pipeline(tar, createWriteStream(path)), ended]);
}

async function pushArchive(
  path: string,
  gzip: boolean,
  { context, build }: { readonly context: string; readonly build: Build },
): Promise<string> {
  await writeFile(join(context, 'Dockerfile'), 'FROM base\n');
  const file = createReadStream(path);
  return inContextFolder(gzip ? file.pipe(createGunzip()) : file, async (layout) => {
    const digest = await layOut(layout, path);
    return build(context, [
      ...['--oci-layout', `base=${layout}`],
      ...['--opt', `context:base=oci-layout://base@${digest}`],
    ]);
  });
}
