// Typed objects over a store: JSON parsed by schema and version, and references whose bytes are checked against their digest.
import { createHash } from 'node:crypto';
import { Transform, type Readable } from 'node:stream';
import type { z } from 'zod';
import { ClassifiedError, ObjectError } from '../domain/errors.ts';
import type { Ref } from '../domain/refs.ts';
import { upgrade, type Upgrades } from './formats.ts';
import type { Store } from './port.ts';
import { relay } from './streams.ts';

/** The digest that names bytes: sha256 in lower-case hex. */
const sha256Of = (body: Uint8Array): string => createHash('sha256').update(body).digest('hex');

export const refOf = (key: string, body: Uint8Array): Ref => ({
  key,
  sha256: sha256Of(body),
  bytes: body.byteLength,
});

/**
 * The bytes of a reference, checked.
 * @throws ClassifiedError StoreUnavailable where the object is not there or is not what the reference says.
 */
export async function readRef(store: Store, ref: Ref): Promise<Uint8Array> {
  const body = await store.get(ref.key);
  if (body === null) throw missing(store, ref);
  const fault = faultOf(ref, body.byteLength, sha256Of(body));
  if (fault !== null) throw fault;
  return body;
}

/** The same as a stream: it fails at its end, before `end`, where the bytes are not what the reference says. */
export async function openRef(store: Store, ref: Ref): Promise<Readable> {
  const source = await store.open(ref.key);
  if (source === null) throw missing(store, ref);
  const hash = createHash('sha256');
  let bytes = 0;
  const checked = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      hash.update(chunk);
      bytes += chunk.byteLength;
      done(null, chunk);
    },
    flush(done) {
      done(faultOf(ref, bytes, hash.digest('hex')));
    },
  });
  return relay(source, (error) => error, checked);
}

const missing = (store: Store, ref: Ref): ClassifiedError =>
  new ClassifiedError('StoreUnavailable', `${store.url} has no object ${ref.key} that a reference names`);

function faultOf(ref: Ref, bytes: number, sha256: string): ClassifiedError | null {
  if (bytes === ref.bytes && sha256 === ref.sha256) return null;
  return new ClassifiedError(
    'StoreUnavailable',
    `object ${ref.key} is ${bytes} bytes with sha256 ${sha256}, its reference says ${ref.bytes} bytes with sha256 ${ref.sha256}`,
  );
}

/** Writes a value as JSON, in the order and form of its schema; replaces what is there. */
export async function putJson<T>(store: Store, key: string, schema: z.ZodType<T>, value: T): Promise<Ref> {
  return store.put(key, encodeJson(schema, value));
}

/** Writes a value as JSON once; see Store.putOnce. */
export async function putJsonOnce<T>(
  store: Store,
  key: string,
  schema: z.ZodType<T>,
  value: T,
): Promise<{ readonly written: boolean; readonly same: boolean; readonly ref: Ref }> {
  return store.putOnce(key, encodeJson(schema, value));
}

const encodeJson = <T>(schema: z.ZodType<T>, value: T): Uint8Array =>
  Buffer.from(`${JSON.stringify(schema.parse(value))}\n`);

/**
 * The value of a JSON object, null where there is none.
 * @throws ObjectError that names the key where it is no JSON, of another format or version, or not of this schema.
 */
export async function readJson<T>(
  store: Store,
  key: string,
  schema: z.ZodType<T>,
  upgrades?: Upgrades,
): Promise<T | null> {
  const body = await store.get(key);
  return body === null ? null : decodeJson(body, { key, schema, ...(upgrades && { upgrades }) });
}

/** The same with the object's reference, of one reading. Errors as of readJson. */
export async function readJsonAndRef<T>(
  store: Store,
  key: string,
  schema: z.ZodType<T>,
): Promise<{ readonly value: T; readonly ref: Ref } | null> {
  const body = await store.get(key);
  return body === null ? null : { value: decodeJson(body, { key, schema }), ref: refOf(key, body) };
}

/** The value of a JSON object that a reference names, its digest checked. Errors as of readRef and readJson. */
export async function readJsonRef<T>(store: Store, ref: Ref, schema: z.ZodType<T>): Promise<T> {
  return decodeJson(await readRef(store, ref), { key: ref.key, schema });
}

interface Decoding<T> {
  /** Named in errors. */
  readonly key: string;
  readonly schema: z.ZodType<T>;
  readonly upgrades?: Upgrades;
}

/** Parses the bytes of a stored JSON object. Errors as of readJson. */
function decodeJson<T>(body: Uint8Array, { key, schema, upgrades }: Decoding<T>): T {
  let raw: unknown;
  try {
    raw = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
  } catch (error) {
    throw new ObjectError(`stored object ${key} is not JSON: ${(error as SyntaxError).message}`);
  }
  const parsed = schema.safeParse(upgrade(raw, { key, schema, ...(upgrades && { upgrades }) }));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? 'it' : issue.path.join('.');
  const more = parsed.error.issues.length > 1 ? ` (and ${parsed.error.issues.length - 1} more)` : '';
  throw new ObjectError(
    `stored object ${key} is not what was written there: ${where}: ${issue?.message ?? 'invalid'}${more}`,
  );
}
