// Reads a sweep file (YAML): one clear line with file, line and key for whatever does not fit.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { InputError } from '../domain/errors.ts';
import { firstIssue, inWords, issueText, lineOf } from '../domain/input-issues.ts';
import { readPromptFiles } from './prompt-file.ts';
import { SweepFileSchema, type SweepRequest } from './sweep-request.ts';

/**
 * Reads and checks a sweep file. What names a file or folder is made relative to it.
 * @throws InputError with file, line and key.
 */
export async function readSweepFile(file: string): Promise<SweepRequest> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new InputError(
      `${file}: cannot be read (${error instanceof Error ? error.message : String(error)}); name a sweep file, or use --tasks and --model`,
    );
  });
  const counter = new LineCounter();
  const lineAt = (offset: number): number => counter.linePos(offset).line;
  const document = parseDocument(text, { lineCounter: counter, uniqueKeys: true, prettyErrors: false });
  const broken = document.errors[0];
  if (broken !== undefined) {
    throw new InputError(
      `${file}:${lineAt(broken.pos[0])}: not valid YAML: ${broken.message.split('\n')[0] ?? ''}`,
    );
  }
  const parsed = SweepFileSchema.safeParse(document.toJS() ?? {}, { error: inWords });
  if (!parsed.success) {
    const issue = firstIssue(parsed.error, 'the keys of docs/sweep-file.schema.json');
    const line = lineOf(document, lineAt, issue.path);
    throw new InputError(`${file}${line === null ? '' : `:${line}`}: ${issueText(issue)}`);
  }
  const base = path.dirname(file);
  const { store, splits, kubernetes, ...request } = parsed.data;
  const at = (keys: readonly PropertyKey[]): string => {
    const line = lineOf(document, lineAt, keys);
    return `${file}${line === null ? '' : `:${line}`}: ${keys.map(String).join('.')}`;
  };
  return {
    ...request,
    tasks: path.resolve(base, request.tasks),
    scaffolds: await readPromptFiles(request.scaffolds, base, at),
    ...(kubernetes === undefined ? {} : { kubernetes: path.resolve(base, kubernetes) }),
    ...(splits === undefined ? {} : { splits: path.resolve(base, splits) }),
    ...(store === undefined ? {} : { store: store.includes('://') ? store : path.resolve(base, store) }),
  };
}
