// Options of a scaffold by its schema: one line for whatever does not fit, and prompts with their digest.
import { createHash } from 'node:crypto';
import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { InputError } from '../domain/errors.ts';

/** A text of the user's in place of ours: in a sweep file it is named by its file. */
export const PromptSchema = z
  .strictObject({ text: z.string().min(1), sha256: z.string().optional() })
  .nullable()
  .default(null);

export interface Prompt {
  readonly text: string;
  readonly sha256: string;
}

function explainUnknown(key: string, known: readonly string[]): string {
  const near = closest(key, known);
  const like = distance(key, near) <= Math.max(2, key.length / 2);
  return `unknown option ${key}${like ? `: do you mean ${near}?` : `; it has ${known.join(', ')}`}`;
}

/** @throws InputError with one line that names the scaffold and the option */
export function readOptions<S extends z.ZodObject>(
  scaffold: string,
  schema: S,
  written: Readonly<Record<string, unknown>>,
): z.output<S> {
  const parsed = schema.safeParse(written);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const what =
    issue?.code === 'unrecognized_keys' && issue.path.length === 0
      ? explainUnknown(issue.keys[0] ?? '', Object.keys(schema.shape))
      : `option ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`;
  throw new InputError(`scaffold ${scaffold}: ${what}`);
}

/** @throws InputError where the text is not the one that its digest names */
export function readPrompt(scaffold: string, written: z.output<typeof PromptSchema>): Prompt | null {
  if (written === null) return null;
  const sha256 = createHash('sha256').update(written.text).digest('hex');
  if (written.sha256 !== undefined && written.sha256 !== sha256) {
    throw new InputError(
      `scaffold ${scaffold}: prompt.sha256 is ${written.sha256}, but the text's is ${sha256}`,
    );
  }
  return { text: written.text, sha256 };
}
