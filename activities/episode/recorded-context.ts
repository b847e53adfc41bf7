// What the server says of what it serves, over its record: asked once an episode, and from then on always the same.
import type { ContextRecord } from '../../domain/episode.ts';
import type { ModelProbe } from '../../model/probe.ts';
import type { EpisodeSession } from './session.ts';
import { contexts, digestOf } from './turn-records.ts';

const requestDigest = digestOf('context');

/** The record where it is there, and null where it is not: the server is not asked. */
export const findContext = ({ records }: Pick<EpisodeSession, 'records'>): Promise<ContextRecord | null> =>
  records.find(contexts, 0, requestDigest);

/** The record, made where it is not there. Fails as the server's answer does: the reply that is to follow would too. */
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
