// What the server says of what it serves, over its record: asked once an episode, and from then on always the same.
import type { ContextRecord } from '../../domain/episode.ts';
import { ClassifiedError } from '../../domain/errors.ts';
import type { ModelProbe } from '../../model/probe.ts';
import type { EpisodeSession } from './session.ts';
import { contexts, digestOf } from './turn-records.ts';

const requestDigest = digestOf('context');

/** The record where it is there, and null where it is not: the server is not asked. */
export const findContext = ({ records }: Pick<EpisodeSession, 'records'>): Promise<ContextRecord | null> =>
  records.find(contexts, 0, requestDigest);

/**
 * The record, made where it is not there. A server that lists no models now, or lets nobody read the list, did so as the
 * sweep began: it is asked again, and no moment's trouble becomes the context of a whole episode.
 * @throws ClassifiedError ModelUnavailable
 */
export async function readContext(
  { records, signal }: Pick<EpisodeSession, 'records' | 'signal'>,
  probe: (signal: AbortSignal) => Promise<ModelProbe>,
): Promise<ContextRecord> {
  const known = await findContext({ records });
  if (known !== null) return known;
  const { contextTokens, serving } = await probe(signal).catch((error: unknown) => {
    signal.throwIfAborted();
    if (!(error instanceof ClassifiedError) || error.failureClass === 'ModelUnavailable') throw error;
    throw new ClassifiedError('ModelUnavailable', error.message, { cause: error });
  });
  return await records.write(contexts, 0, {
    format: 'passband.context',
    version: 1,
    requestDigest,
    contextTokens,
    ...(serving && { serving }),
  });
}
