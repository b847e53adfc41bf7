// Images that pods are made of: a task's own, with the toolbox as one more layer, pushed where the registry has it not.
import { Readable } from 'node:stream';
import { pack } from 'tar-stream';
import { ClassifiedError } from '../../domain/errors.ts';
import type { Image } from '../../domain/gate.ts';
import { aborted } from '../../sandbox/aborted.ts';
import { bringBase } from '../../sandbox/images/base-request.ts';
import { digestOf, sourceKey } from '../../sandbox/images/keys.ts';
import { SharedWork } from '../../sandbox/images/shared-work.ts';
import { readToolbox, toolboxFailure, toolboxTimeoutMs } from '../../sandbox/images/toolbox-source.ts';
import type { ImageBuilder, ImageSource } from '../../sandbox/port.ts';
import type { KubernetesConfig } from '../config.ts';
import { BuildKit, type BuildKitRequest } from './buildkit.ts';
import { inContextFolder } from './context-folder.ts';
import { spell } from './reference.ts';
import { hostOf, placeOf } from './registry-place.ts';
import { parsedReference, Registry } from './registry.ts';

/** Adding a layer takes a second; a prebuilt image of another registry is copied into ours for it. */
const appendTimeoutMs = 15 * 60_000;

export class KubernetesImages implements ImageBuilder {
  readonly #config: KubernetesConfig;
  readonly #registry: Registry;
  readonly #buildkit: BuildKit;
  readonly #work = new SharedWork<Image>();
  readonly #onPush: (reference: string) => void;
  readonly #closing = new AbortController();
  #toolbox: Promise<Image> | null = null;

  /** `onPush` is told of each image that is pushed, by its reference. */
  constructor(
    config: KubernetesConfig,
    env: NodeJS.ProcessEnv,
    onPush: (reference: string) => void = () => undefined,
  ) {
    this.#config = config;
    this.#onPush = onPush;
    this.#registry = new Registry(config.registry, env);
    this.#buildkit = new BuildKit(config, env);
  }

  /**
   * @throws ClassifiedError ImageMissing (no such image, or the build fails), ImagePullTransient (a registry has no answer
   *   just now), PlatformUnavailable (BuildKit), Forbidden (our own registry), ConfigInvalid (nothing that builds)
   */
  async ensure(source: ImageSource, signal?: AbortSignal): Promise<Image> {
    const key = sourceKey(source);
    return this.#work.run(key, () => this.#make(source, key), signal);
  }

  /** The image that holds /opt/passband alone. */
  async toolbox(signal?: AbortSignal): Promise<Image> {
    this.#toolbox ??= this.#makeToolbox().catch((error: unknown) => {
      this.#toolbox = null;
      throw toolboxFailure(error);
    });
    return signal === undefined ? this.#toolbox : Promise.race([this.#toolbox, aborted(signal)]);
  }

  /** Ends what is being built: whoever waits for it gets an AbortError. */
  close(): void {
    this.#closing.abort();
  }

  async #make(source: ImageSource, key: string): Promise<Image> {
    const toolbox = await this.toolbox();
    const base =
      source.kind === 'build' ? await this.#base(source, key) : await this.#prebuilt(source.reference);
    // What a reference means may change: with a prebuilt image, its content is the key.
    const content = source.kind === 'build' ? key : digestOf([base.digest]);
    const reference = this.#named('task', digestOf([content, toolbox.digest]));
    const there = await this.#registry.digestOf(reference);
    return { reference, digest: there ?? (await this.#append(reference, { base, toolbox })) };
  }

  async #base(source: Extract<ImageSource, { kind: 'build' }>, key: string): Promise<Image> {
    const reference = this.#named('base', key);
    const there = await this.#registry.digestOf(reference);
    if (there !== null) return { reference, digest: there };
    const { dockerfile, target, args, offline, timeoutMs } = source;
    const request = { name: reference, dockerfile, target, args, offline, timeoutMs };
    const context = await source.context();
    return { reference, digest: await this.#build(context, { ...request, late: 'ImageMissing' }) };
  }

  async #prebuilt(text: string): Promise<Image> {
    const parsed = parsedReference(text);
    const reference = spell(parsed);
    const { host } = placeOf(parsed, this.#config.registry);
    const missing = (why: string): ClassifiedError =>
      new ClassifiedError('ImageMissing', `image ${reference} ${why}; ${bringBase(text)}`);
    const digest = await this.#registry.digestOf(reference).catch((error: unknown) => {
      if (!(error instanceof ClassifiedError)) throw error;
      const { failureClass, message } = error;
      // A registry of others hides what it does not have behind a refusal: that stops one task, and not the sweep.
      const hidden = failureClass === 'Forbidden' && host !== hostOf(this.#config.registry.repository);
      throw hidden || failureClass === 'ImageMissing' ? missing(`cannot be had: ${message}`) : error;
    });
    if (digest === null) throw missing(`is not in registry ${host}`);
    return { reference, digest };
  }

  /** The same base and the same toolbox give the same image, whoever appends it and when. */
  async #append(
    name: string,
    { base, toolbox }: { readonly base: Image; readonly toolbox: Image },
  ): Promise<string> {
    // --link: the layer lies on whatever is below, which BuildKit then need not unpack.
    const text = `FROM ${pinned(base)}\nCOPY --link --from=${pinned(toolbox)} /opt/passband /opt/passband\n`;
    const tar = pack();
    tar.entry({ name: 'Dockerfile', mtime: new Date(0) }, text);
    tar.finalize();
    const limits = { timeoutMs: appendTimeoutMs, late: 'PlatformUnavailable' } as const;
    const args = { SOURCE_DATE_EPOCH: '0' };
    const request = { name, dockerfile: 'Dockerfile', args, offline: false, ...limits };
    try {
      return await this.#build(Readable.from(tar, { objectMode: false }), request);
    } catch (error) {
      if (!(error instanceof ClassifiedError) || error.failureClass !== 'ImageMissing') throw error;
      // Both were there a moment ago, and no step of the task's own runs here.
      const told = `the toolbox cannot be appended to ${pinned(base)}: ${error.message}`;
      throw new ClassifiedError('PlatformUnavailable', told, { cause: error });
    }
  }

  async #makeToolbox(): Promise<Image> {
    const source = await readToolbox();
    const reference = this.#named('toolbox', source.digest);
    const there = await this.#registry.digestOf(reference);
    if (there !== null) return { reference, digest: there };
    const limits = { timeoutMs: toolboxTimeoutMs, late: 'PlatformUnavailable' } as const;
    const request = { name: reference, dockerfile: 'Dockerfile', offline: false, ...limits };
    return { reference, digest: await this.#build(source.context(), request) };
  }

  async #build(context: Readable, request: Omit<BuildKitRequest, 'folder'>): Promise<string> {
    const digest = await inContextFolder(context, (folder) =>
      this.#buildkit.build({ ...request, folder }, this.#closing.signal),
    );
    this.#onPush(request.name);
    return digest;
  }

  #named(what: 'base' | 'task' | 'toolbox', tag: string): string {
    return `${this.#config.registry.repository}/${what}:${tag}`;
  }
}

/** As a FROM and a pod name it: by its digest alone. */
export function pinned({ reference, digest }: Image): string {
  const { host, repository } = parsedReference(reference);
  return `${host}/${repository}@${digest}`;
}
