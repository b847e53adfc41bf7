// Keys that the format does not have: found by the schema, taken out, and reported with the nearest known one.
import { closest } from 'fastest-levenshtein';
import { z } from 'zod';
import { TaskTomlSchema } from './schema.ts';

export interface UnknownKey {
  readonly path: readonly (string | number)[];
  readonly reason: string;
}

// Keys that public tasks hold and the format never had, with what they would have to mean here.
const seen: Readonly<Record<string, string>> = {
  'steps.dependencies': 'steps run in the order they are written',
  'steps.inherit_prior_session': 'every step has a conversation of its own, in the same sandbox',
};

/** Takes every unknown key out of a copy of `value`; `extra` is free at every level, and taken out unsaid. */
export function splitUnknownKeys(value: unknown): {
  readonly known: unknown;
  readonly unknown: UnknownKey[];
} {
  const known: unknown = structuredClone(value);
  const unknown: UnknownKey[] = [];
  for (;;) {
    const issues = TaskTomlSchema.safeParse(known).error?.issues ?? [];
    const extra = issues.filter((issue) => issue.code === 'unrecognized_keys');
    if (extra.length === 0) return { known, unknown };
    for (const issue of extra) {
      const parent = issue.path.filter((part) => typeof part !== 'symbol');
      const table = valueAt(known, parent);
      for (const key of issue.keys) {
        if (isTable(table)) Reflect.deleteProperty(table, key);
        if (key !== 'extra') unknown.push({ path: [...parent, key], reason: describe(parent, key, value) });
      }
    }
  }
}

function describe(parent: readonly (string | number)[], key: string, document: unknown): string {
  const named = parent.filter((part) => typeof part === 'string').join('.');
  const what = isTable(valueAt(document, [...parent, key])) ? 'table' : 'key';
  const hint = seen[named === '' ? key : `${named}.${key}`];
  if (hint !== undefined) return `unknown ${what} "${key}" has no effect: ${hint}`;
  const here = knownKeys(parent);
  // `timeout` is nearer to `timeout_sec` than to `user`, whatever the count of letters says.
  const related = here.filter((candidate) => candidate.startsWith(key) || key.startsWith(candidate));
  const near = closest(key, related.length > 0 ? related : here);
  const elsewhere = ['agent', 'verifier', 'environment', 'task', 'solution'].filter(
    (table) => table !== named && knownKeys([table]).includes(key),
  );
  const also = elsewhere.length === 0 ? '' : ` (${elsewhere.map((table) => `[${table}]`).join(', ')} has it)`;
  return `unknown ${what} "${key}" has no effect; the nearest known one is "${near}"${also}`;
}

function knownKeys(path: readonly (string | number)[]): string[] {
  let schema: unknown = TaskTomlSchema;
  for (const part of path) {
    const inner = unwrap(schema);
    if (inner instanceof z.ZodArray) schema = inner.element;
    else if (inner instanceof z.ZodObject) schema = inner.shape[part];
  }
  const last = unwrap(schema);
  return last instanceof z.ZodObject ? Object.keys(last.shape) : [];
}

function unwrap(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return unwrap(schema.unwrap());
  }
  return schema instanceof z.ZodPipe ? unwrap(schema.out) : schema;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (at, part) =>
      typeof at === 'object' && at !== null ? (at as Record<string | number, unknown>)[part] : undefined,
    value,
  );
}
