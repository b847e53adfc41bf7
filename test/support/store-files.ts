// What a sweep left in a store on disk, read as files: nothing of the product stands between the test and the evidence.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { trialsPrefix } from '../../domain/layout.ts';
import { VerdictSchema, type Verdict } from '../../domain/verdict.ts';

/** Paths of all files under a folder of the store, relative to it, sorted; none where there is no such folder. */
export async function filesUnder(store: string, prefix: string): Promise<string[]> {
  const folder = path.join(store, prefix);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort();
}

/** Every verdict of a sweep, in the order of their keys. */
export async function verdictsOf(store: string, sweep: string): Promise<Verdict[]> {
  const prefix = trialsPrefix(sweep);
  const files = (await filesUnder(store, prefix)).filter((file) => path.basename(file) === 'verdict.json');
  return await Promise.all(
    files.map(async (file) =>
      VerdictSchema.parse(JSON.parse(await readFile(path.join(store, prefix, file), 'utf8'))),
    ),
  );
}

/** Path under the prefix to sha256 of every file; one that goes away meanwhile is left out. */
export async function digestsUnder(store: string, prefix: string): Promise<ReadonlyMap<string, string>> {
  const digests = new Map<string, string>();
  for (const file of await filesUnder(store, prefix)) {
    const bytes = await readFile(path.join(store, prefix, file)).catch(() => null);
    if (bytes !== null) digests.set(file, createHash('sha256').update(bytes).digest('hex'));
  }
  return digests;
}
