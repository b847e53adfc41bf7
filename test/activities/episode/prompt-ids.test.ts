// Prompt ids by suffix and checksum: nothing is lost, and a break is found where it is.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PromptIdsChain, type PromptIds } from '../../../activities/episode/prompt-ids.ts';

const ids = fc.array(fc.nat(300_000), { maxLength: 30 });

describe('PromptIdsChain', () => {
  it('C66: a prompt that extends the last turn is kept as what it adds', () => {
    const chain = new PromptIdsChain();
    chain.take({ promptIds: chain.next([1, 2, 3]), completionIds: [4, 5] });
    expect(chain.next([1, 2, 3, 4, 5, 6, 7])).toMatchObject({
      suffix: [6, 7],
      prefixLength: 5,
      extends: true,
      breakIndex: null,
    });
  });

  it('C66: a token lost at the end of a turn is reported by its index', () => {
    const chain = new PromptIdsChain();
    chain.take({ promptIds: chain.next([1, 2, 3]), completionIds: [4, 5] });
    expect(chain.next([1, 2, 3, 4, 9])).toMatchObject({
      suffix: [9],
      prefixLength: 4,
      extends: false,
      breakIndex: 4,
    });
  });

  it('C67: every prompt of an episode can be put together again from its records', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(ids, ids), { maxLength: 8 }), (turns) => {
        const chain = new PromptIdsChain();
        let known: number[] = [];
        for (const [prompt, completionIds] of turns) {
          const kept: PromptIds = chain.next(prompt);
          expect([...known.slice(0, kept.prefixLength), ...kept.suffix]).toEqual(prompt);
          chain.take({ promptIds: kept, completionIds });
          known = [...prompt, ...completionIds];
        }
      }),
    );
  });

  it('the same prefix has the same checksum, another one another', () => {
    const after = (prompt: number[]): string => {
      const chain = new PromptIdsChain();
      chain.take({ promptIds: chain.next(prompt), completionIds: [] });
      return chain.next([...prompt, 1]).prefixSha256;
    };
    expect(after([7, 8])).toBe(after([7, 8]));
    expect(after([7, 8])).not.toBe(after([8, 7]));
  });
});
