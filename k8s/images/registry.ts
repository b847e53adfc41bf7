// Registries as the driver asks them: which digest a reference has, and what the configuration of an image says.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ClassifiedError } from '../../domain/errors.ts';
import type { Image } from '../../domain/gate.ts';
import type { ServicePort } from '../../domain/services.ts';
import { SharedWork } from '../../sandbox/images/shared-work.ts';
import type { ImageFacts } from '../../sandbox/supervised/facts.ts';
import { HealthConfig, healthOfImage, portsOfImage } from './image-services.ts';
import { parseReference, type Reference } from './reference.ts';
import { RegistryClient } from './registry-client.ts';
import { silenceOf } from './registry-errors.ts';
import { placeOf, type RegistryConfig, type RegistryPlace } from './registry-place.ts';

export type RegistryFacts = Required<ImageFacts> & {
  /** Directories that the image declares to be volumes. */
  readonly volumes: readonly string[];
  /** EXPOSE. */
  readonly ports: readonly ServicePort[];
};

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const Platform = z.object({ os: z.string(), architecture: z.string() });
const Manifest = z.union([
  z.object({ config: z.object({ digest }) }),
  z.object({ manifests: z.array(z.object({ digest, platform: Platform.optional() })) }),
]);
const Config = z.object({
  config: z
    .object({
      User: z.string().nullish(),
      WorkingDir: z.string().nullish(),
      Entrypoint: z.array(z.string()).nullish(),
      Cmd: z.array(z.string()).nullish(),
      Volumes: z.record(z.string(), z.unknown()).nullish(),
      ExposedPorts: z.record(z.string(), z.unknown()).nullish(),
      Healthcheck: HealthConfig.nullish(),
    })
    .nullish(),
});

/** As registries name it: nodes are taken to be what this machine is. */
const architecture = process.arch === 'x64' ? 'amd64' : process.arch;

export class Registry {
  readonly #config: RegistryConfig;
  readonly #client: RegistryClient;
  /** By digest: what it names never changes. */
  readonly #facts = new Map<string, RegistryFacts>();
  readonly #reading = new SharedWork<RegistryFacts>();

  constructor(config: RegistryConfig, env: NodeJS.ProcessEnv) {
    this.#config = config;
    this.#client = new RegistryClient(config, env);
  }

  /**
   * The digest that a reference has now, null where its registry does not hold it.
   * @throws ClassifiedError Forbidden, ImagePullTransient, ConfigInvalid; ImageMissing where it names no image
   */
  async digestOf(reference: string, signal?: AbortSignal): Promise<string | null> {
    const parsed = parsedReference(reference);
    const path = `manifests/${parsed.digest ?? parsed.tag ?? 'latest'}`;
    const ask = { what: `looking for ${reference}`, path, accept: manifestTypes };
    const place = placeOf(parsed, this.#config);
    const answer = await this.#client.ask(place, { ...ask, method: 'HEAD' }, signal);
    if (answer === null) return null;
    const told = digest.safeParse(answer.headers.get('docker-content-digest'));
    if (told.success) return told.data;
    const whole = await this.#client.ask(place, { ...ask, method: 'GET' }, signal);
    return whole === null ? null : sha256(await bytesOf(place, ask.what, whole));
  }

  /**
   * What the image's configuration says, by its digest.
   * @throws ClassifiedError as digestOf; ImageMissing where the registry no longer holds it, or not for this platform
   */
  async facts(image: Image, signal?: AbortSignal): Promise<RegistryFacts> {
    const known = this.#facts.get(image.digest);
    if (known !== undefined) return known;
    const read = await this.#reading.run(image.digest, () => this.#read(image), signal);
    this.#facts.set(image.digest, read);
    return read;
  }

  async #read(image: Image): Promise<RegistryFacts> {
    let manifest = await this.#parsed(image, { path: `manifests/${image.digest}`, as: Manifest });
    if ('manifests' in manifest) {
      const ours = manifest.manifests.find(
        ({ platform }) => platform?.os === 'linux' && platform.architecture === architecture,
      );
      if (ours === undefined) {
        throw new ClassifiedError(
          'ImageMissing',
          `${image.reference} has no image for linux/${architecture}`,
        );
      }
      manifest = await this.#parsed(image, { path: `manifests/${ours.digest}`, as: Manifest });
    }
    if ('manifests' in manifest) {
      throw new ClassifiedError('ImageMissing', `${image.reference} is an index of indexes`);
    }
    const { config } = await this.#parsed(image, { path: `blobs/${manifest.config.digest}`, as: Config });
    const workdir = config?.WorkingDir ?? '';
    return {
      user: config?.User ?? '',
      workdir: workdir === '' ? '/' : workdir,
      entrypoint: config?.Entrypoint ?? [],
      command: config?.Cmd ?? [],
      healthcheck: healthOfImage(config?.Healthcheck ?? null),
      volumes: Object.keys(config?.Volumes ?? {}),
      ports: portsOfImage(Object.keys(config?.ExposedPorts ?? {})),
    };
  }

  /** What a digest names, seen to be it. */
  async #parsed<T>(
    image: Image,
    { path, as }: { readonly path: string; readonly as: z.ZodType<T> },
  ): Promise<T> {
    const whole = `${image.reference}@${image.digest}`;
    const place = placeOf(parsedReference(image.reference), this.#config);
    const ask = { what: `reading ${whole}`, method: 'GET', path, accept: manifestTypes } as const;
    const answer = await this.#client.ask(place, ask);
    if (answer === null) {
      throw new ClassifiedError('ImageMissing', `registry ${place.host} no longer holds ${whole}`);
    }
    const bytes = await bytesOf(place, ask.what, answer);
    const named = path.slice(path.indexOf('/') + 1);
    if (sha256(bytes) !== named) throw silenceOf(ask.what, place, new Error(`the answer is not ${named}`));
    try {
      return as.parse(JSON.parse(bytes.toString('utf8')));
    } catch (cause) {
      throw new ClassifiedError('ImageMissing', `${whole}: ${path} is of no format of images`, { cause });
    }
  }
}

async function bytesOf(place: RegistryPlace, what: string, answer: Response): Promise<Buffer> {
  try {
    return Buffer.from(await answer.arrayBuffer());
  } catch (cause) {
    throw silenceOf(what, place, cause);
  }
}

const sha256 = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** @throws ClassifiedError ImageMissing where the text names no image */
export function parsedReference(text: string): Reference {
  const parsed = parseReference(text);
  if (parsed !== null) return parsed;
  throw new ClassifiedError('ImageMissing', `${text} is not the name of an image`);
}
