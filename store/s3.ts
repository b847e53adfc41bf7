// The store in an S3 bucket, or in one of a store that speaks S3: whole objects, conditional puts, no checksum trailers.
import { randomUUID } from 'node:crypto';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  GetObjectCommand,
  HeadObjectCommand,
  paginateListObjectsV2,
  PutObjectCommand,
  S3Client,
  type GetObjectCommandOutput,
  type ListObjectsV2CommandOutput,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { ClassifiedError, InputError } from '../domain/errors.ts';
import { blobKey } from '../domain/layout.ts';
import type { Ref } from '../domain/refs.ts';
import { filesystemError } from './filesystem-errors.ts';
import { checkKey, checkPrefix } from './keys.ts';
import { refOf } from './objects.ts';
import type { ObjectInfo, Store } from './port.ts';
import { isAbsent, isConflict, isTaken, s3Error } from './s3-errors.ts';
import { spool } from './spool.ts';
import { relay } from './streams.ts';

export interface S3Location {
  /** As it is shown, and as it can be opened again. */
  readonly url: string;
  readonly bucket: string;
  /** Empty, or ends in a slash. */
  readonly prefix: string;
  /** Null: AWS's own for the region. */
  readonly endpoint: string | null;
  /** Null: from the SDK's own configuration. */
  readonly region: string | null;
  readonly pathStyle: boolean;
}

/** The SDK's tries of one request; what fails them all is StoreUnavailable, and the caller's to retry. */
const requestTries = 4;
const connectTimeoutMs = 5_000;
/** Without a byte for so long, a request has failed. */
const idleTimeoutMs = 60_000;
const socketLimit = 64;
/** Blobs up to this size go in one request; larger ones in parts of it, two at once: memory stays flat. */
const partBytes = 16 * 1024 ** 2;
const partsAtOnce = 2;
const conflictTries = 8;
const conflictDelayMs = 100;
/** Written once by check(), and left there: a store needs no right to delete. */
const checkObject = 'v1/check';

export function openS3Store(location: S3Location): Store {
  return new S3Store(location);
}

class S3Store implements Store {
  readonly url: string;
  readonly #location: S3Location;
  readonly #client: S3Client;

  constructor(location: S3Location) {
    this.url = location.url;
    this.#location = location;
    this.#client = new S3Client({
      ...(location.endpoint !== null && { endpoint: location.endpoint }),
      ...(location.region !== null && { region: location.region }),
      forcePathStyle: location.pathStyle,
      maxAttempts: requestTries,
      // The SDK's default sends CRC32 trailers, which stores that only speak S3 refuse. Bodies are buffers whose sha256 is
      // part of the signature, so that the store checks them all the same.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: connectTimeoutMs,
        socketTimeout: idleTimeoutMs,
        httpAgent: { keepAlive: true, maxSockets: socketLimit },
        httpsAgent: { keepAlive: true, maxSockets: socketLimit },
      },
    });
  }

  async get(key: string): Promise<Uint8Array | null> {
    return this.#guard(key, async () => {
      const found = await this.#find(key);
      return found?.Body === undefined ? null : found.Body.transformToByteArray();
    });
  }

  async open(key: string): Promise<Readable | null> {
    const found = await this.#guard(key, () => this.#find(key));
    if (found === null) return null;
    if (!(found.Body instanceof Readable)) throw new TypeError('the S3 client gave no stream of Node');
    return relay(found.Body, (error) => s3Error(error, this.#where(key)));
  }

  async #find(key: string): Promise<GetObjectCommandOutput | null> {
    try {
      return await this.#client.send(new GetObjectCommand(this.#address(key)));
    } catch (error) {
      if (isAbsent(error)) return null;
      throw error;
    }
  }

  async put(key: string, body: Uint8Array): Promise<Ref> {
    await this.#guard(key, () =>
      this.#client.send(new PutObjectCommand({ ...this.#address(key), Body: body })),
    );
    return refOf(key, body);
  }

  async putOnce(key: string, body: Uint8Array): Promise<{ written: boolean; same: boolean; ref: Ref }> {
    const ref = refOf(key, body);
    return this.#guard(key, async () => {
      for (let tries = 1; ; tries += 1) {
        try {
          await this.#client.send(
            new PutObjectCommand({ ...this.#address(key), Body: body, IfNoneMatch: '*' }),
          );
          return { written: true, same: true, ref };
        } catch (error) {
          if (isTaken(error)) {
            const there = await this.get(key);
            if (there !== null) return { written: false, same: Buffer.compare(there, body) === 0, ref };
          } else if (!isConflict(error)) throw error;
          if (tries === conflictTries) throw error;
          await sleep(Math.random() * conflictDelayMs * tries);
        }
      }
    });
  }

  async putBlob(body: Readable | Uint8Array): Promise<Ref> {
    const folder = tmpdir();
    const fileError = (error: unknown): Error => filesystemError(error, folder, 'a blob on its way to S3');
    const file = path.join(folder, `passband-${randomUUID()}`);
    const handle = await open(file, 'wx+', 0o600).catch((error: unknown) => {
      throw fileError(error);
    });
    try {
      // Without a name from here on, so that nothing is left of it however this process ends.
      await rm(file);
      const { sha256, bytes } = await spool(body, handle, fileError);
      const ref = { key: blobKey(sha256), sha256, bytes };
      await this.#guard(ref.key, () => this.#putSpooled(ref, handle));
      return ref;
    } finally {
      await handle.close();
    }
  }

  async #putSpooled(ref: Ref, handle: FileHandle): Promise<void> {
    if ((await this.#bytesOf(ref.key)) === ref.bytes) return;
    if (ref.bytes <= partBytes) {
      const whole = new Uint8Array(ref.bytes);
      await handle.read(whole, 0, ref.bytes, 0);
      await this.put(ref.key, whole);
      return;
    }
    const body = handle.createReadStream({ start: 0, end: ref.bytes - 1, autoClose: false });
    await new Upload({
      client: this.#client,
      params: { ...this.#address(ref.key), Body: body },
      partSize: partBytes,
      queueSize: partsAtOnce,
    }).done();
    const stored = await this.#bytesOf(ref.key);
    if (stored === ref.bytes) return;
    throw new ClassifiedError(
      'StoreUnavailable',
      `${this.#where(ref.key)}: ${ref.bytes} bytes were sent, ${stored ?? 'none'} are there`,
    );
  }

  async #bytesOf(key: string): Promise<number | null> {
    try {
      return (await this.#client.send(new HeadObjectCommand(this.#address(key)))).ContentLength ?? null;
    } catch (error) {
      if (isAbsent(error)) return null;
      throw error;
    }
  }

  async *list(prefix: string): AsyncGenerator<ObjectInfo> {
    for await (const page of this.#pages(prefix)) {
      for (const { Key: key, Size: bytes } of page.Contents ?? []) {
        // Some consoles make an object of a folder: its key is none of ours.
        if (key !== undefined && !key.endsWith('/')) yield { key: this.#own(key), bytes: bytes ?? 0 };
      }
    }
  }

  async *listFolders(prefix: string): AsyncGenerator<string> {
    for await (const page of this.#pages(prefix, '/')) {
      for (const { Prefix: key } of page.CommonPrefixes ?? []) if (key !== undefined) yield this.#own(key);
    }
  }

  async *#pages(prefix: string, delimiter?: string): AsyncGenerator<ListObjectsV2CommandOutput> {
    const { bucket, prefix: own } = this.#location;
    const request = {
      Bucket: bucket,
      Prefix: `${own}${checkPrefix(prefix)}`,
      ...(delimiter !== undefined && { Delimiter: delimiter }),
    };
    try {
      yield* paginateListObjectsV2({ client: this.#client }, request);
    } catch (error) {
      throw s3Error(error, this.#where(prefix));
    }
  }

  async check(): Promise<void> {
    const body = Buffer.from('passband\n');
    await this.putOnce(checkObject, body);
    if ((await this.putOnce(checkObject, body)).written) {
      throw new InputError(
        `${this.url}: this store ignores If-None-Match, so a verdict could be written twice: use one that has conditional writes`,
      );
    }
  }

  close(): Promise<void> {
    this.#client.destroy();
    return Promise.resolve();
  }

  #address(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#location.bucket, Key: `${this.#location.prefix}${checkKey(key)}` };
  }

  #own(key: string): string {
    return key.slice(this.#location.prefix.length);
  }

  #where(key: string): string {
    return key === '' ? this.url : `${this.url} at ${key}`;
  }

  async #guard<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw s3Error(error, this.#where(key));
    }
  }
}
