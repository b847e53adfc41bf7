// The object store as every room sees it: one interface, two drivers, one conformance suite.
import type { Readable } from 'node:stream';
import type { Ref } from '../domain/refs.ts';

export interface ObjectInfo {
  readonly key: string;
  readonly bytes: number;
}

/**
 * Keys are slash-separated, without leading slash, `..` or empty components (InputError otherwise).
 * Every failure to reach the store is a ClassifiedError `StoreUnavailable`; refused credentials are `Forbidden`.
 */
export interface Store {
  /** Shown to people, without credentials. */
  readonly url: string;
  /** Null where there is no such object. */
  get(key: string): Promise<Uint8Array | null>;
  /** A stream of the object; null where there is none. */
  open(key: string): Promise<Readable | null>;
  /** Replaces the object whole, atomically. */
  put(key: string, body: Uint8Array): Promise<Ref>;
  /**
   * Writes an object once (`If-None-Match: *`). `written` false: it was there, and stays as it was.
   * A repeated call with equal bytes after a cut reports `written: false`, `same: true`.
   */
  putOnce(
    key: string,
    body: Uint8Array,
  ): Promise<{ readonly written: boolean; readonly same: boolean; readonly ref: Ref }>;
  /** Stores a stream of unknown length under its own sha256 (layout blobKey): idempotent, atomic, checked. */
  putBlob(body: Readable | Uint8Array): Promise<Ref>;
  /** Objects whose key begins with the prefix, in key order. */
  list(prefix: string): AsyncIterable<ObjectInfo>;
  /**
   * Folders right under a prefix that is empty or ends in a slash, each whole with its closing slash, in key order,
   * without going through what is in them. An empty folder may be among them.
   */
  listFolders(prefix: string): AsyncIterable<string>;
  /** Checks that the store can be written to: ClassifiedError or InputError with a clear line where it cannot. */
  check(): Promise<void>;
  close(): Promise<void>;
}
