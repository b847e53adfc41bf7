// The store in a folder: an object is a file, written aside, flushed, and moved or linked to its name.
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, type Dirent, type Stats } from 'node:fs';
import { link, mkdir, open, readdir, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { blobKey } from '../domain/layout.ts';
import type { Ref } from '../domain/refs.ts';
import { codeOf, filesystemError, isAbsent } from './filesystem-errors.ts';
import { checkKey, checkPrefix, temporaryFolder } from './keys.ts';
import { refOf } from './objects.ts';
import type { ObjectInfo, Store } from './port.ts';
import { spool } from './spool.ts';
import { relay } from './streams.ts';

/** Unfinished files older than this are a dead writer's: a live one touches its file all the time. */
const leftoverAgeMs = 24 * 3600 * 1000;

/**
 * A store under `root`, made at the first write. Unfinished files lie in one folder of the root, so they are on
 * the same file system as the objects, are never listed, and a dead writer's are found without a walk.
 */
export function openFilesystemStore(root: string): Store {
  return new FilesystemStore(path.resolve(root));
}

class FilesystemStore implements Store {
  readonly url: string;
  readonly #root: string;
  /** Where files lie until they are whole. */
  readonly #temporary: string;
  #prepared = false;

  constructor(root: string) {
    this.#root = root;
    this.#temporary = path.join(root, temporaryFolder);
    this.url = pathToFileURL(root).href;
  }

  async get(key: string): Promise<Uint8Array | null> {
    const file = this.#fileOf(key);
    try {
      return await readFile(file);
    } catch (error) {
      if (isAbsent(error) || codeOf(error) === 'EISDIR') return null;
      throw this.#error(error, key);
    }
  }

  async open(key: string): Promise<Readable | null> {
    const file = this.#fileOf(key);
    const found = await this.#guard(key, () => statOrNull(file));
    if (found?.isFile() !== true) return null;
    return relay(createReadStream(file), (error) => this.#error(error, key));
  }

  async put(key: string, body: Uint8Array): Promise<Ref> {
    const file = this.#fileOf(key);
    await this.#write(body, key, async (temporary) => {
      await this.#place(file, () => rename(temporary, file));
    });
    return refOf(key, body);
  }

  async putOnce(key: string, body: Uint8Array): Promise<{ written: boolean; same: boolean; ref: Ref }> {
    const file = this.#fileOf(key);
    const ref = refOf(key, body);
    const written = await this.#write(body, key, (temporary) => this.#linkOnce(temporary, file));
    if (written) return { written, same: true, ref };
    const there = await this.get(key);
    return { written, same: there !== null && Buffer.compare(there, body) === 0, ref };
  }

  async putBlob(body: Readable | Uint8Array): Promise<Ref> {
    return this.#aside('blobs', async (temporary, handle) => {
      const { sha256, bytes } = await spool(body, handle, (error) => this.#error(error, 'blobs'));
      const key = blobKey(sha256);
      await this.#guard(key, async () => {
        await handle.sync();
        const file = this.#fileOf(key);
        if (await this.#linkOnce(temporary, file)) return;
        // It is there already; what a fault of the disk has spoiled is put right.
        if ((await digestOf(file)) !== sha256) await this.#place(file, () => rename(temporary, file));
      });
      return { key, sha256, bytes };
    });
  }

  async *list(prefix: string): AsyncGenerator<ObjectInfo> {
    checkPrefix(prefix);
    yield* this.#walk(prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix);
  }

  async *listFolders(prefix: string): AsyncGenerator<string> {
    checkPrefix(prefix);
    for (const { key, entry } of await this.#entries(prefix, prefix)) if (entry.isDirectory()) yield key;
  }

  /** Objects under a folder (`''` or ending in a slash) whose key begins with the prefix. */
  async *#walk(folder: string, prefix: string): AsyncGenerator<ObjectInfo> {
    for (const { entry, key } of await this.#entries(folder, prefix)) {
      if (entry.isDirectory()) yield* this.#walk(key, prefix);
      else yield* this.#info(entry, key);
    }
  }

  /** What lies in a folder and begins with the prefix, in key order: a folder's key ends in a slash, and so it sorts. */
  async #entries(folder: string, prefix: string): Promise<{ entry: Dirent; key: string }[]> {
    const entries = await this.#guard(folder, () =>
      readdir(path.join(this.#root, folder), { withFileTypes: true }).catch((error: unknown) => {
        if (isAbsent(error)) return [];
        throw error;
      }),
    );
    return entries
      .filter((entry) => folder !== '' || entry.name !== temporaryFolder)
      .map((entry) => ({ entry, key: `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}` }))
      .filter(({ key }) => key.startsWith(prefix))
      .map((one) => ({ ...one, order: Buffer.from(one.key) }))
      .sort((a, b) => Buffer.compare(a.order, b.order));
  }

  async *#info(entry: Dirent, key: string): AsyncGenerator<ObjectInfo> {
    if (!entry.isFile()) return;
    const found = await this.#guard(key, () => statOrNull(path.join(this.#root, key)));
    if (found !== null) yield { key, bytes: found.size };
  }

  async check(): Promise<void> {
    await this.#write(Buffer.from('check\n'), this.#temporary, async (temporary) => {
      await link(temporary, `${temporary}.linked`);
      await rm(`${temporary}.linked`);
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #fileOf(key: string): string {
    return path.join(this.#root, checkKey(key));
  }

  /** Writes the body aside and flushes it, then hands its name to `finish`; nothing of it is left but what that made. */
  #write<T>(body: Uint8Array, key: string, finish: (temporary: string) => Promise<T>): Promise<T> {
    return this.#aside(key, (temporary, handle) =>
      this.#guard(key, async () => {
        await handle.writeFile(body);
        await handle.sync();
        return finish(temporary);
      }),
    );
  }

  async #aside<T>(key: string, use: (temporary: string, handle: FileHandle) => Promise<T>): Promise<T> {
    await this.#guard(key, () => this.#prepare());
    const temporary = path.join(this.#temporary, randomUUID());
    const handle = await this.#guard(key, () => open(temporary, 'wx'));
    try {
      return await use(temporary, handle);
    } finally {
      await this.#guard(key, async () => {
        await handle.close();
        await rm(temporary, { force: true });
      });
    }
  }

  /** Makes the folder of unfinished files, and once in this store's life removes what dead writers left there. */
  async #prepare(): Promise<void> {
    if (this.#prepared) return;
    await makeFolder(this.#temporary);
    for (const name of await readdir(this.#temporary)) {
      const file = path.join(this.#temporary, name);
      const found = await statOrNull(file);
      if (found !== null && Date.now() - found.mtimeMs > leftoverAgeMs) await rm(file, { force: true });
    }
    this.#prepared = true;
  }

  /** Gives the file its name unless there is one: link(2) never replaces, whoever races. */
  async #linkOnce(temporary: string, file: string): Promise<boolean> {
    try {
      await this.#place(file, () => link(temporary, file));
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST' && (await statOrNull(file))?.isFile() === true) return false;
      throw error;
    }
  }

  /** Runs what makes the name, with its folder there before and flushed after: a name must survive a power cut. */
  async #place(file: string, make: () => Promise<void>): Promise<void> {
    const folder = path.dirname(file);
    await make().catch(async (error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
      await makeFolder(folder);
      await make();
    });
    const handle = await open(folder);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  async #guard<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#error(error, key);
    }
  }

  #error(error: unknown, where: string): Error {
    return filesystemError(error, this.#root, where);
  }
}

/**
 * Makes a folder and those above it, one by one: Node's own `recursive` hides why it failed on a read-only file system,
 * and never ends below /proc. Whoever makes one of them at the same time is as good.
 */
async function makeFolder(folder: string): Promise<void> {
  try {
    await makeOne(folder);
  } catch (error) {
    const parent = path.dirname(folder);
    if (codeOf(error) !== 'ENOENT' || parent === folder) throw error;
    await makeFolder(parent);
    await makeOne(folder);
  }
}

/** Makes a folder whose parent is there; one that is there already is left as it is. */
async function makeOne(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST' || (await statOrNull(folder))?.isDirectory() !== true) throw error;
  }
}

async function statOrNull(file: string): Promise<Stats | null> {
  try {
    return await stat(file);
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file) as AsyncIterable<Uint8Array>) hash.update(chunk);
  return hash.digest('hex');
}
