// A delta laid into a fresh sandbox: what is deleted first, then the filtered content, checked again entry by entry.
import { Readable } from 'node:stream';
import { deltaLimitBytes, type DeltaEntry, type DeltaManifest, type Withheld } from '../../domain/delta.ts';
import { hasSpecialBits } from '../../domain/withhold.ts';
import { filterTar } from '../../sandbox/archive/filter-tar.ts';
import type { Sandbox } from '../../sandbox/port.ts';
import { openRef } from '../../store/objects.ts';
import type { World } from '../world.ts';

/** Why an entry is left out that withholding has named already. */
const notLaid = 'not among what is laid';

/** Lays the entries at their own paths, setuid and setgid only where an entry has them. Answers what was refused on the way, on either end. */
export async function layDelta(
  world: World,
  sandbox: Sandbox,
  { content }: Pick<DeltaManifest, 'content'>,
  entries: readonly DeltaEntry[],
): Promise<Withheld[]> {
  const deleted = entries.filter(({ change }) => change === 'deleted').map(({ path }) => path);
  if (deleted.length > 0) await sandbox.removePaths(deleted);
  const laid = new Set(entries.filter(({ change }) => change !== 'deleted').map(({ path }) => path));
  if (content === null || laid.size === 0) return [];
  const special = new Set(entries.filter(hasSpecialBits).map(({ path }) => path));
  const refused = new Map<string, Withheld>();
  const refuse = (path: string): void => {
    refused.set(path, { path, rule: 'refused-entry' });
  };
  const archive = (): Readable =>
    Readable.from(
      (async function* () {
        const rules = {
          judge: (path: string) => (laid.has(path) ? null : notLaid),
          keepsSpecialBits: (path: string) => special.has(path),
          maxBytes: deltaLimitBytes,
        };
        yield* filterTar(await openRef(world.store, content), rules, ({ path, why }) => {
          if (why !== notLaid) refuse(path);
        });
      })(),
      { objectMode: false },
    );
  const transfer = await sandbox.putFiles(archive, { dir: '/', replace: false, owner: null });
  for (const { path } of transfer.refused) refuse(path.startsWith('/') ? path : `/${path}`);
  return [...refused.values()];
}
