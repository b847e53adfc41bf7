// A splits file of the user's: which task belongs to which split. JSONL or CSV rows of (task, split).
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { InputError } from '../domain/errors.ts';

const RowSchema = z.object({ task: z.string().min(1), split: z.string().min(1) });

function parseLine(line: string, where: string): z.infer<typeof RowSchema> {
  let row: unknown;
  if (line.startsWith('{')) {
    try {
      row = JSON.parse(line);
    } catch {
      throw new InputError(
        `${where}: not valid JSON; each line is {"task": NAME, "split": NAME} or NAME,SPLIT`,
      );
    }
  } else {
    const [task, split, ...rest] = line.split(',').map((part) => part.trim());
    row = rest.length === 0 ? { task, split } : null;
  }
  const parsed = RowSchema.safeParse(row);
  if (!parsed.success)
    throw new InputError(`${where}: each line is {"task": NAME, "split": NAME} or NAME,SPLIT`);
  return parsed.data;
}

/** Task to split. @throws InputError with file and line; a task in two splits is refused. */
export async function readSplits(file: string | undefined): Promise<ReadonlyMap<string, string>> {
  const splits = new Map<string, string>();
  if (file === undefined) return splits;
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new InputError(
      `${file}: cannot be read (${error instanceof Error ? error.message : String(error)})`,
    );
  });
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || (index === 0 && /^task\s*,\s*split$/.test(line))) continue;
    const { task, split } = parseLine(line, `${file}:${index + 1}`);
    const before = splits.get(task);
    if (before !== undefined && before !== split) {
      throw new InputError(`${file}:${index + 1}: ${task} is in ${before} already: give each task one split`);
    }
    splits.set(task, split);
  }
  return splits;
}
