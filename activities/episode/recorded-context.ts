// What the server says of what it serves, over its record: asked once an episode, and from then on always the same.
import type { ContextRecord } from '../../domain/episode.ts';
import { ClassifiedError } from '../../domain/errors.ts';
import type { FailureClass } from '../../domain/failures.ts';
import type { ModelProbe } from '../../model/probe.ts';
import type { EpisodeSession } from './session.ts';
import { contexts, digestOf } from './turn-records.ts';

const requestDigest = digestOf('context');

/** The record where it is there, and null where it is not: the server is not asked. */
export const findContext = ({ records }: Pick<EpisodeSession, 'records'>): Promise<ContextRecord | null> =>
  records.find(contexts, 0, requestDigest);

const refusals: ReadonlySet<FailureClass> = new Set(['Forbidden', 'ModelNotFound', 'ConfigInvalid']);

/** Whether a server that is there does not tell: it lists no models now, or lets nobody read the list. */
export const tellsNothing = (error: unknown): error is ClassifiedError =>
  error instanceof ClassifiedError && refusals.has(error.failureClass);

/**
 * The record, made where it is not there. Of a server that does not tell nothing is recorded: a moment's trouble would be
 * the context of a whole episode. @throws ClassifiedError, as the probe
 */
export async function readContext(
  { records, signal }: Pick<EpisodeSession, 'records' | 'signal'>,
  probe: (signal: AbortSignal) => Promise<ModelProbe>,
): Promise<ContextRecord> {
  const known = await findContext({ records });
  if (known !== null) return known;
  const { contextTokens, serving } = await probe(signal);
  return await records.write(contexts, 0, {
    format: 'passband.context',
    version: 1,
    requestDigest,
    contextTokens,
    ...(serving && { serving }),
  });
}
