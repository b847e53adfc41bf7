// The exact id sequences of an episode, put together again from its reply records: one from each break to the next.
import { ObjectError } from '../domain/errors.ts';
import type { BreakCause, ReplyRecord } from '../domain/episode.ts';
import { idsChecksum } from './ids-checksum.ts';

export interface SampledIds {
  readonly call: number;
  /** Index of its first id in the sequence. */
  readonly from: number;
  readonly ids: readonly number[];
  /** One for each id as they were sampled; null where the server gave none. */
  readonly logprobs: readonly number[] | null;
  readonly text: string;
}

/** Ids that a model may be given as they are: every completion in it follows from exactly what stands before it. */
export interface IdSequence {
  readonly ids: readonly number[];
  /** Those that were sampled in it, in their order: at least one. */
  readonly sampled: readonly SampledIds[];
  /** The break that it begins after; null for the first. */
  readonly brokenBy: {
    readonly call: number;
    readonly index: number;
    readonly cause: BreakCause | null;
  } | null;
}

interface Building {
  ids: number[];
  readonly sampled: SampledIds[];
  readonly brokenBy: IdSequence['brokenBy'];
}

/**
 * The sequences of one step, in order; a reply whose ids the server did not give is in none.
 * @throws ObjectError where a record's prefix is not what the records before it say
 */
export function* idSequences(records: readonly ReplyRecord[], place: string): Generator<IdSequence> {
  let current: Building = { ids: [], sampled: [], brokenBy: null };
  for (const { call, promptIds, completionIds, logprobs, text } of records) {
    if (promptIds === null) continue;
    const { prefixLength, prefixSha256, suffix, breakIndex, breakCause } = promptIds;
    const prefix = current.ids.slice(0, prefixLength);
    if (prefix.length !== prefixLength || idsChecksum(prefix) !== prefixSha256) {
      throw new ObjectError(
        `${place}: the prompt of reply ${call} does not go on from the replies before it: its ids have another checksum`,
      );
    }
    if (breakIndex !== null) {
      if (current.sampled.length > 0) yield current;
      current = { ids: prefix, sampled: [], brokenBy: { call, index: breakIndex, cause: breakCause } };
    }
    for (const id of suffix) current.ids.push(id);
    if (completionIds === null) continue;
    current.sampled.push({ call, from: current.ids.length, ids: completionIds, logprobs, text });
    for (const id of completionIds) current.ids.push(id);
  }
  if (current.sampled.length > 0) yield current;
}
