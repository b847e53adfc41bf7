// Versions of stored objects: an older one is brought forward by pure steps, an unknown one is refused by name.
import { z } from 'zod';
import { ObjectError } from '../domain/errors.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Pure: makes of an object of one version one of the next. */
export type Step = (older: JsonObject) => JsonObject;

/** A format's steps by the version that each begins with. Without steps only the schema's own version is read. */
export type Upgrades = ReadonlyMap<number, Step>;

export interface Wanted {
  /** Named in errors. */
  readonly key: string;
  /** Its `format` and `version` literals say what is wanted; a schema without them takes any value. */
  readonly schema: z.ZodType;
  readonly upgrades?: Upgrades;
}

/**
 * Brings a stored value to the version that the schema wants.
 * @throws ObjectError where it is of another format, of a newer version, or of one that no step leads on from.
 */
export function upgrade(stored: unknown, { key, schema, upgrades = new Map() }: Wanted): unknown {
  const wanted = literalsOf(schema);
  if (wanted === null) return stored;
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) {
    throw new ObjectError(`stored object ${key} is no ${wanted.format} object`);
  }
  let value = stored as JsonObject;
  if (value['format'] !== wanted.format) {
    throw new ObjectError(
      `stored object ${key} has format ${JSON.stringify(value['format'])}, expected ${wanted.format}`,
    );
  }
  while (value['version'] !== wanted.version) {
    const { version } = value;
    const step = typeof version === 'number' && version < wanted.version ? upgrades.get(version) : undefined;
    if (step === undefined || typeof version !== 'number') {
      throw new ObjectError(
        `stored object ${key} has ${wanted.format} version ${JSON.stringify(version)}, this passband reads version ${wanted.version}: use the passband that wrote it, or a newer one`,
      );
    }
    value = { ...step(value), version: version + 1 };
  }
  return value;
}

/** Schemas are asked for every object that is read, and never change. */
const known = new WeakMap<z.ZodType, { format: string; version: number } | null>();

function literalsOf(schema: z.ZodType): { format: string; version: number } | null {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const shape: Readonly<Record<string, unknown>> = schema instanceof z.ZodObject ? schema.shape : {};
  const format = literal(shape['format']);
  const version = literal(shape['version']);
  const found = typeof format === 'string' && typeof version === 'number' ? { format, version } : null;
  known.set(schema, found);
  return found;
}

const literal = (schema: unknown): unknown =>
  schema instanceof z.ZodLiteral && schema.values.size === 1 ? [...schema.values][0] : undefined;
