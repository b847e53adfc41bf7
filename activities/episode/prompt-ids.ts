// Exact prompt ids kept small: of each turn the suffix since the last one, with a checksum of the prefix.
import { createHash } from 'node:crypto';
import type { ReplyRecord } from '../../domain/episode.ts';

export type PromptIds = NonNullable<ReplyRecord['promptIds']>;

/** sha256 over the ids as little-endian 32-bit words. */
function checksum(ids: readonly number[]): string {
  const words = new DataView(new ArrayBuffer(ids.length * 4));
  for (const [at, id] of ids.entries()) words.setUint32(at * 4, id, true);
  return createHash('sha256').update(new Uint8Array(words.buffer)).digest('hex');
}

/** Follows the ids of an episode's turns: prompt, then completion, then the next prompt that should extend both. */
export class PromptIdsChain {
  #known: readonly number[] = [];

  /** The record of a prompt after what is known; where it does not extend that, the index of the break. */
  next(prompt: readonly number[]): PromptIds {
    const known = this.#known;
    const differs = known.findIndex((id, at) => prompt[at] !== id);
    const prefixLength = differs < 0 ? known.length : differs;
    return {
      suffix: prompt.slice(prefixLength),
      prefixLength,
      prefixSha256: checksum(prompt.slice(0, prefixLength)),
      extends: differs < 0,
      breakIndex: differs < 0 ? null : differs,
    };
  }

  /** Takes a turn in, from its record: the next prompt is compared with it. */
  take({ promptIds, completionIds }: Pick<ReplyRecord, 'promptIds' | 'completionIds'>): void {
    if (promptIds === null) return;
    this.#known = [
      ...this.#known.slice(0, promptIds.prefixLength),
      ...promptIds.suffix,
      ...(completionIds ?? []),
    ];
  }
}
