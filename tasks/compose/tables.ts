// A table of the file made ready: keys sorted out by their rule, variables put in, shapes parsed.
import type { z } from 'zod';
import type { ComposeFile } from './compose-file.ts';
import { isTable, type KeyPath, type Table } from './document.ts';
import { interpolate } from './interpolation.ts';
import { asksNothing, isExtension, type KeyRule } from './keys.ts';

export interface Sorting {
  readonly rules: Readonly<Record<string, KeyRule>>;
  /** The table is a part of the agent's own service. */
  readonly isMain: boolean;
}

/** The kept keys of a table that ask for something; refused ones are findings. */
export function keptKeys(file: ComposeFile, at: KeyPath, table: Table, { rules, isMain }: Sorting): Table {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(table)) {
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    if (isExtension(key) || rule?.decision === 'ignored') continue;
    if (rule?.decision === 'kept') {
      if (value !== null) kept[key] = value;
      continue;
    }
    if (rule === undefined) file.refuse([...at, key], key, 'is no key that is known here');
    else if (!asksNothing(value) && (rule.decision === 'refused' || isMain)) {
      const shown = typeof value === 'string' && value.length <= 40 ? `${key} ${value}` : key;
      file.refuse([...at, key], shown, rule.why);
    }
  }
  return kept;
}

/** The value with its variables put in; one that nobody gives is refused. */
export function filledIn(file: ComposeFile, at: KeyPath, value: unknown): unknown {
  if (typeof value === 'string') {
    const { text, missing, fault } = interpolate(value, file.variables);
    for (const name of missing) refuseVariable(file, at, name);
    if (fault !== null) file.fail(at, fault);
    return fault === null ? text : value;
  }
  if (Array.isArray(value)) return value.map((item, index) => filledIn(file, [...at, index], item));
  if (!isTable(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, filledIn(file, [...at, key], item)]),
  );
}

/** A sandbox has nothing of the machine that runs passband, and a task means the same on every one. */
export function refuseVariable(file: ComposeFile, at: KeyPath, name: string): void {
  file.refuse(
    at,
    `variable ${name}`,
    'neither the harness nor environment/.env gives it: write a default, ${…:-…}',
  );
}

/** Null where a value is wrong: the findings say which. */
export function parsedTable<Schema extends z.ZodType>(
  file: ComposeFile,
  at: KeyPath,
  schema: Schema,
  value: unknown,
): z.output<Schema> | null {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) {
    const { path, reason } = told(issue);
    file.fail([...at, ...path], reason);
  }
  return null;
}

/** Of a value that may have several shapes, what the one says that it comes nearest to. */
function told(issue: z.core.$ZodIssue): { path: (string | number)[]; reason: string } {
  const path = issue.path.filter((part) => typeof part !== 'symbol');
  if (issue.code === 'custom' || issue.code === 'invalid_format') return { path, reason: issue.message };
  const inner = issue.code === 'invalid_union' ? issue.errors.flat() : [];
  const named = inner.map(told).find(({ reason }) => reason !== unlike);
  return named === undefined ? { path, reason: unlike } : { ...named, path: [...path, ...named.path] };
}

const unlike = 'is not as compose takes it';
