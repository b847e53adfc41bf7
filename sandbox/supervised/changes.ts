// What differs from the image, as the supervisor tells it: against what it walked when it began (`init --baseline`).
import { ClassifiedError } from '../../domain/errors.ts';
import { BaselineResponse, ChangesResponse } from '../protocol/responses.ts';
import type { RefusedEntry } from '../port.ts';
import type { Connections } from './connections.ts';
import type { Link } from './link.ts';
import { isOurs } from './own-paths.ts';
import { recovering } from './recovery.ts';
import type { Supervised } from './supervised.ts';

export interface Change {
  readonly path: string;
  readonly change: 'added' | 'changed' | 'deleted';
}

export interface SeenChanges {
  readonly changes: readonly Change[];
  /** What differs and cannot be named. */
  readonly refused: readonly RefusedEntry[];
  /** More differs than is told. */
  readonly truncated: boolean;
}

/** Paths that differ, ours left out. ClassifiedError `Unexpected` where the sandbox was made without a baseline. */
export async function seeChanges(sandbox: Supervised): Promise<SeenChanges> {
  if (!sandbox.facts.baseline) {
    throw new ClassifiedError('Unexpected', 'the changes of a sandbox that was made without a baseline');
  }
  const { response } = await recovering(sandbox, 'the changes of the file system', (connection) =>
    connection.exchange({ request: { op: 'changes' }, response: ChangesResponse }),
  );
  const deleted = new Set(response.deleted);
  // A tree whose place something else took is told as deleted and as added: the one says it all.
  const added = response.added.filter((path) => !deleted.has(path));
  const changes = [
    ...response.deleted.map((path) => ({ path, change: 'deleted' as const })),
    ...added.map((path) => ({ path, change: 'added' as const })),
    ...response.changed.map((path) => ({ path, change: 'changed' as const })),
  ].filter(({ path }) => path !== '/' && !isOurs(path));
  return { changes, refused: response.refused, truncated: response.truncated };
}

/**
 * Waits until the supervisor has seen what there was. Nothing of a task may run before that. A few milliseconds where
 * it has.
 */
export async function awaitBaseline(sandbox: {
  readonly link: Link;
  readonly connections: Connections;
}): Promise<void> {
  await recovering(sandbox, 'the baseline of the file system', (connection) =>
    connection.exchange({ request: { op: 'baseline' }, response: BaselineResponse }),
  );
}
