// Images that a sandbox can be made of: a task's own, with the toolbox as one more layer, made where it is not there.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pack } from 'tar-stream';
import { ClassifiedError } from '../../domain/errors.ts';
import type { Image } from '../../domain/gate.ts';
import type { ImageBuilder, ImageSource } from '../port.ts';
import { aborted } from './aborted.ts';
import { readContext, sentContext } from './build-context.ts';
import { build } from './build.ts';
import type { Engine } from './engine.ts';
import { NotThere } from './engine-errors.ts';
import { pullImage } from './pull.ts';
import { ensureToolbox } from './toolbox-image.ts';

/** Adding a layer takes a second; an engine that is busy with other builds takes longer. */
const appendTimeoutMs = 5 * 60_000;

export class EngineImages implements ImageBuilder {
  readonly #engine: Engine;
  readonly #running = new Map<string, Promise<Image>>();
  #toolbox: Promise<string> | null = null;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async ensure(source: ImageSource, signal?: AbortSignal): Promise<Image> {
    const key = source.kind === 'build' ? buildKey(source) : digestOf(['prebuilt', source.reference]);
    // Shared by all who ask, so no one caller's signal ends it: it has limits of time of its own.
    const making = this.#running.get(key) ?? this.#make(source, key).finally(() => this.#running.delete(key));
    this.#running.set(key, making);
    return signal === undefined ? making : Promise.race([making, aborted(signal)]);
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
    const { dockerfile, offline, timeoutMs } = source;
    const facts = await readContext(await source.context(), dockerfile);
    const context = sentContext(await source.context(), dockerfile, facts);
    const late = 'ImageMissing';
    await build(this.#engine, { tag, context, dockerfile, offline, timeoutMs, bases: facts.bases, late });
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
      throw notTheTask(error);
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

/** A toolbox that cannot be made is for the operator to mend, and no task is rejected for it. */
function notTheTask(error: unknown): unknown {
  if (!(error instanceof ClassifiedError) || error.failureClass !== 'ImageMissing') return error;
  const message = `the toolbox's image cannot be made: ${error.message}`;
  return new ClassifiedError('ConfigInvalid', message, { cause: error });
}

const digestOf = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);

const buildKey = ({ digest, dockerfile, offline }: Extract<ImageSource, { kind: 'build' }>): string =>
  digestOf([digest, dockerfile, offline]);
