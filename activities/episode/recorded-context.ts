// The context's length over its record: asked of the server once an episode, and from then on always the same.
import { ClassifiedError } from '../../domain/errors.ts';
import type { ModelClient } from '../../model/client.ts';
import type { EpisodeSession } from './session.ts';
import { contexts, digestOf } from './turn-records.ts';

const requestDigest = digestOf('context');

/** Tokens of the model's context, null where its server does not tell. */
export async function readContextTokens(
  { records, signal }: Pick<EpisodeSession, 'records' | 'signal'>,
  client: () => Promise<Pick<ModelClient, 'probe'>>,
): Promise<number | null> {
  const known = await records.find(contexts, 0, requestDigest);
  if (known !== null) return known.contextTokens;
  const contextTokens = await askServer(await client(), signal);
  const record = await records.write(contexts, 0, {
    format: 'passband.context',
    version: 1,
    requestDigest,
    contextTokens,
  });
  return record.contextTokens;
}

/** A server that is there but lists no models, or lets nobody read the list, may answer all the same: it does not tell. */
async function askServer(client: Pick<ModelClient, 'probe'>, signal: AbortSignal): Promise<number | null> {
  try {
    return (await client.probe(signal)).contextTokens;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ClassifiedError) || error.failureClass === 'ModelUnavailable') throw error;
    return null;
  }
}
