// Reads a sweep file (YAML): one clear line with file, line and key for whatever does not fit.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { LineCounter, parseDocument, type Document } from 'yaml';
import type { z } from 'zod';
import { InputError } from '../domain/errors.ts';
import { SweepFileSchema, type SweepRequest } from './sweep-request.ts';

/** The 1-based line of the deepest part of a path that stands in the file, or null. */
function lineOf(document: Document, counter: LineCounter, keys: readonly PropertyKey[]): number | null {
  for (let depth = keys.length; depth > 0; depth -= 1) {
    const node: unknown = document.getIn(keys.slice(0, depth), true);
    if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range)) {
      return counter.linePos(Number(node.range[0])).line;
    }
  }
  return null;
}

/** The first issue of a failed parse as `key: what is wrong`, with the key's path. */
export function firstIssue(error: z.ZodError): {
  readonly path: readonly PropertyKey[];
  readonly text: string;
} {
  const issue = error.issues[0];
  if (issue === undefined) return { path: [], text: 'does not fit the schema' };
  const keys = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0] ?? ''] : issue.path;
  const text =
    issue.code === 'unrecognized_keys'
      ? `unknown key; known here are the keys of docs/sweep-file.schema.json`
      : issue.message;
  return { path: keys, text: `${keys.map(String).join('.') || 'the file'}: ${text}` };
}

/**
 * Reads and checks a sweep file. `tasks` and a store folder are made relative to the file.
 * @throws InputError with file, line and key.
 */
export async function readSweepFile(file: string): Promise<SweepRequest> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new InputError(
      `${file}: cannot be read (${error instanceof Error ? error.message : String(error)}); name a sweep file, or use --tasks and --model`,
    );
  });
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, uniqueKeys: true });
  const broken = document.errors[0];
  if (broken !== undefined) {
    throw new InputError(
      `${file}:${counter.linePos(broken.pos[0]).line}: not valid YAML: ${broken.message.split('\n')[0] ?? ''}`,
    );
  }
  const parsed = SweepFileSchema.safeParse(document.toJS());
  if (!parsed.success) {
    const issue = firstIssue(parsed.error);
    const line = lineOf(document, counter, issue.path);
    throw new InputError(`${file}${line === null ? '' : `:${line}`}: ${issue.text}`);
  }
  const base = path.dirname(file);
  const { store, splits, ...request } = parsed.data;
  return {
    ...request,
    tasks: path.resolve(base, request.tasks),
    ...(splits === undefined ? {} : { splits: path.resolve(base, splits) }),
    ...(store === undefined ? {} : { store: store.includes('://') ? store : path.resolve(base, store) }),
  };
}
