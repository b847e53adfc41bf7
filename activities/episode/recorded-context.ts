// What the server says of what it serves, over its record: asked once an episode, and from then on always the same.
import { ClassifiedError } from '../../domain/errors.ts';
import type { ContextRecord } from '../../domain/episode.ts';
import type { ModelClient } from '../../model/client.ts';
import type { ModelProbe } from '../../model/probe.ts';
import type { EpisodeSession } from './session.ts';
import { contexts, digestOf } from './turn-records.ts';

const requestDigest = digestOf('context');

/** The record where it is there, and null where it is not: the server is not asked. */
export const findContext = ({ records }: Pick<EpisodeSession, 'records'>): Promise<ContextRecord | null> =>
  records.find(contexts, 0, requestDigest);

/** The record, made where it is not there. */
export async function readContext(
  session: Pick<EpisodeSession, 'records' | 'signal'>,
  client: () => Promise<Pick<ModelClient, 'probe'>>,
): Promise<ContextRecord> {
  const known = await findContext(session);
  if (known !== null) return known;
  const { contextTokens, serving } = await askServer(await client(), session.signal);
  return await session.records.write(contexts, 0, {
    format: 'passband.context',
    version: 1,
    requestDigest,
    contextTokens,
    ...(serving && { serving }),
  });
}

/** A server that is there but lists no models, or lets nobody read the list, may answer all the same: it does not tell. */
async function askServer(client: Pick<ModelClient, 'probe'>, signal: AbortSignal): Promise<ModelProbe> {
  try {
    return await client.probe(signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ClassifiedError) || error.failureClass === 'ModelUnavailable') throw error;
    return { contextTokens: null };
  }
}
