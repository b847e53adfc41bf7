// Images that a sandbox can be made of: a task's own, with the toolbox as one more layer, made where it is not there.
import { Readable } from 'node:stream';
import { pack } from 'tar-stream';
import { ClassifiedError } from '../../domain/errors.ts';
import type { Image } from '../../domain/gate.ts';
import { readContext, sentContext } from '../images/build-context.ts';
import { digestOf, sourceKey } from '../images/keys.ts';
import { SharedWork } from '../images/shared-work.ts';
import { toolboxFailure } from '../images/toolbox-source.ts';
import type { ImageBuilder, ImageSource } from '../port.ts';
import { build } from './build.ts';
import type { Engine } from './engine.ts';
import { NotThere } from './engine-errors.ts';
import { pullImage } from './pull.ts';
import { ensureToolbox } from './toolbox-image.ts';

/** Adding a layer takes a second; an engine that is busy with other builds takes longer. */
const appendTimeoutMs = 5 * 60_000;

export class EngineImages implements ImageBuilder {
  readonly #engine: Engine;
  readonly #work = new SharedWork<Image>();
  #toolbox: Promise<string> | null = null;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async ensure(source: ImageSource, signal?: AbortSignal): Promise<Image> {
    const key = sourceKey(source);
    return this.#work.run(key, () => this.#make(source, key), signal);
  }

  async #make(source: ImageSource, key: string): Promise<Image> {
    const toolbox = await this.#ensureToolbox();
    const base = source.kind === 'build' ? `localhost/passband/base:${key}` : source.reference;
    const baseId = (await this.#find(base)) ?? (await this.#bring(source, base));
    // What a reference means may change: with a prebuilt image, its content is the key.
    const content = source.kind === 'build' ? key : digestOf([baseId]);
    const reference = `localhost/passband/task:${digestOf([content, toolbox])}`;
    const there = await this.#find(reference);
    if (there !== null) return { reference, digest: there };
    await this.#append(base, { toolbox, reference });
    const { id: digest } = await this.#engine.inspectImage(reference);
    return { reference, digest };
  }

  /** Builds or pulls the base; its id. */
  async #bring(source: ImageSource, base: string): Promise<string> {
    if (source.kind === 'build') await this.#build(source, base);
    else await pullImage(this.#engine, source.reference);
    const id = await this.#find(base);
    if (id !== null) return id;
    // The log of an engine that ends in the middle of it ends as one that came to its end.
    throw new ClassifiedError(
      'PlatformUnavailable',
      `${base} was made without an error, and the engine does not hold it`,
    );
  }

  async #build(source: Extract<ImageSource, { kind: 'build' }>, tag: string): Promise<void> {
    const { dockerfile, target, args, offline, timeoutMs } = source;
    const facts = await readContext(await source.context(), dockerfile);
    const context = sentContext(await source.context(), dockerfile, facts);
    const request = { tag, context, dockerfile, target, args, offline, timeoutMs, bases: facts.bases };
    await build(this.#engine, { ...request, late: 'ImageMissing' });
  }

  async #append(
    base: string,
    { toolbox, reference }: { readonly toolbox: string; readonly reference: string },
  ): Promise<void> {
    const text = `FROM ${base}\nCOPY --from=${toolbox} /opt/passband /opt/passband\n`;
    const tar = pack();
    tar.entry({ name: 'Dockerfile', mtime: new Date(0) }, text);
    tar.finalize();
    const context = Readable.from(tar, { objectMode: false });
    const request = { tag: reference, context, dockerfile: 'Dockerfile', bases: [base, toolbox] };
    const late = 'PlatformUnavailable';
    await build(this.#engine, { ...request, offline: false, timeoutMs: appendTimeoutMs, late });
  }

  async #ensureToolbox(): Promise<string> {
    this.#toolbox ??= ensureToolbox(this.#engine).catch((error: unknown) => {
      this.#toolbox = null;
      throw toolboxFailure(error);
    });
    return this.#toolbox;
  }

  async #find(reference: string): Promise<string | null> {
    try {
      return (await this.#engine.inspectImage(reference)).id;
    } catch (error) {
      if (error instanceof NotThere) return null;
      throw error;
    }
  }
}
