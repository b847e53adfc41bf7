// A prompt template that a sweep file names by its file: read, and kept as its text, which is part of the plan.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { InputError } from '../domain/errors.ts';
import type { SweepRequest } from './sweep-request.ts';

/**
 * Scaffolds with `prompt: FILE` read as {text, sha256}; FILE is relative to `base`. `at` says where keys stand.
 * @throws InputError where a file cannot be read.
 */
export async function readPromptFiles(
  scaffolds: SweepRequest['scaffolds'],
  base: string,
  at: (keys: readonly PropertyKey[]) => string,
): Promise<SweepRequest['scaffolds']> {
  return await Promise.all(
    scaffolds.map(async ({ name, options }, index) => {
      const { prompt }: Readonly<Record<string, unknown>> = options;
      if (typeof prompt !== 'string') return { name, options };
      const text = await readFile(path.resolve(base, prompt), 'utf8').catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        throw new InputError(
          `${at(['scaffolds', index, 'options', 'prompt'])}: cannot be read (${why}); name the file of a template, relative to the sweep file`,
        );
      });
      const sha256 = createHash('sha256').update(text).digest('hex');
      return { name, options: { ...options, prompt: { text, sha256 } } };
    }),
  );
}
