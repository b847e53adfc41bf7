// Prompt ids by suffix and checksum: nothing is lost, and a break is found where it is, with its cause.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PromptIdsChain, type PromptIds, type Turn } from '../../../activities/episode/prompt-ids.ts';
import type { ChatMessage } from '../../../domain/ports.ts';

const ids = fc.array(fc.nat(300_000), { maxLength: 30 });
const turn = (promptIds: PromptIds, completionIds: number[], fields: Partial<Turn> = {}): Turn => ({
  promptIds,
  completionIds,
  reasoningIds: 0,
  finishReason: 'stop',
  text: 'said',
  ...fields,
});

describe('PromptIdsChain', () => {
  it('C66: a prompt that extends the last turn is kept as what it adds', () => {
    const chain = new PromptIdsChain();
    chain.take(turn(chain.next([1, 2, 3], []), [4, 5]), []);
    expect(chain.next([1, 2, 3, 4, 5, 6, 7], [])).toMatchObject({
      suffix: [6, 7],
      prefixLength: 5,
      extends: true,
      breakIndex: null,
      breakCause: null,
    });
  });

  it('C66: a token lost at the end of a turn is reported by its index', () => {
    const chain = new PromptIdsChain();
    chain.take(turn(chain.next([1, 2, 3], []), [4, 5]), []);
    expect(chain.next([1, 2, 3, 4, 9], [])).toMatchObject({
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
          const kept: PromptIds = chain.next(prompt, []);
          expect([...known.slice(0, kept.prefixLength), ...kept.suffix]).toEqual(prompt);
          expect(kept.breakCause === null).toBe(kept.extends);
          chain.take(turn(kept, completionIds), []);
          known = [...prompt, ...completionIds];
        }
      }),
    );
  });

  it('the same prefix has the same checksum, another one another', () => {
    const after = (prompt: number[]): string => {
      const chain = new PromptIdsChain();
      chain.take(turn(chain.next(prompt, []), []), []);
      return chain.next([...prompt, 1], []).prefixSha256;
    };
    expect(after([7, 8])).toBe(after([7, 8]));
    expect(after([7, 8])).not.toBe(after([8, 7]));
  });
});

// A ChatML tokenizer's ids, as Qwen3 has them.
const [begin, end, eos, open, close] = [151_644, 151_645, 151_643, 151_667, 151_668];
const [newline, blank, user, assistant] = [198, 271, 872, 77_091];
const task = [19_885, 279, 3_383, 13, 1_096, 374, 432, 25];
const screen = [1_072, 220, 16, 21, 198, 1_350, 512, 7];
const thought = [40, 1_265, 1_401, 518, 279, 6_291, 1_156, 11, 1_221, 3_270, 432, 13];
const text = [4_913, 34_484, 3_252, 26_319, 497, 330, 24_270, 788, 10_107];
const say = (role: number, said: readonly number[]): number[] => [
  begin,
  role,
  newline,
  ...said,
  end,
  newline,
];
const opening = [begin, assistant, newline];
const prompt = [...say(user, task), ...opening];
const thinking = [open, newline, ...thought, newline, close, blank];
const asked: ChatMessage[] = [{ role: 'user', content: 'task' }];
const answered: ChatMessage[] = [
  ...asked,
  { role: 'assistant', content: 'said' },
  { role: 'user', content: 'screen' },
];

interface Scene {
  readonly first?: readonly number[];
  readonly completion: readonly number[];
  readonly reply?: Partial<Turn>;
  readonly next: readonly number[];
  readonly messages?: readonly ChatMessage[];
}

function breakOf({ first = prompt, completion, reply, next, messages = answered }: Scene) {
  const chain = new PromptIdsChain();
  chain.take(turn(chain.next(first, asked), [...completion], reply), asked);
  const { breakIndex, breakCause } = chain.next(next, messages);
  return [breakIndex, breakCause];
}
const later = [...say(user, screen), ...opening];
const begun = prompt.length;

describe('the cause of a break', () => {
  it('C66: is none where the reply comes back as it was sampled', () => {
    const completion = [...text, end];
    expect(breakOf({ completion, next: [...prompt, ...text, end, newline, ...later] })).toEqual([null, null]);
  });

  it('C66: is thinking-stripped where the template leaves the thinking of a reply out', () => {
    const completion = [...thinking, ...text, end];
    const reply = { reasoningIds: thinking.length - 1 };
    const next = [...prompt, ...text, end, newline, ...later];
    expect(breakOf({ completion, reply, next })).toEqual([begun, 'thinking-stripped']);
  });

  it('is thinking-stripped where the generation prompt opened the thinking, and where an empty block stays', () => {
    const first = [...prompt, open, newline];
    const completion = [...thought, newline, close, blank, ...text, end];
    const reply = { reasoningIds: thought.length + 2 };
    const without = [...prompt, ...text, end, newline, ...later];
    expect(breakOf({ first, completion, reply, next: without })).toEqual([begun, 'thinking-stripped']);
    const empty = [...prompt, open, newline, newline, close, blank, ...text, end, newline, ...later];
    expect(breakOf({ first, completion, reply, next: empty })).toEqual([begun + 2, 'thinking-stripped']);
  });

  it('is thinking-stripped where a reply was cut in its thinking, and of a reply before the last', () => {
    const completion = [open, newline, ...thought];
    const reply: Partial<Turn> = { reasoningIds: completion.length, finishReason: 'length', text: '' };
    const messages = answered.map((message) =>
      message.role === 'assistant' ? { ...message, content: '' } : message,
    );
    const next = [...prompt, end, newline, ...later];
    expect(breakOf({ completion, reply, next, messages })).toEqual([begun, 'thinking-stripped']);

    const chain = new PromptIdsChain();
    const whole = { reasoningIds: thinking.length };
    const handedBack = [...prompt, ...thinking, ...text, end, newline, ...later];
    chain.take(turn(chain.next(prompt, asked), [...thinking, ...text, end], whole), asked);
    chain.take(turn(chain.next(handedBack, answered), [...thinking, ...text, end], whole), answered);
    const third = [
      ...[...prompt, ...text, end, newline],
      ...[...later, ...text, end, newline],
      ...[...say(user, screen), ...opening],
    ];
    const chat: ChatMessage[] = [...answered, { role: 'assistant', content: 'said' }, ...asked];
    expect(chain.next(third, chat)).toMatchObject({ breakIndex: begun, breakCause: 'thinking-stripped' });
  });

  it('is thinking-stripped where the text says again what was thought', () => {
    const completion = [open, newline, ...text, newline, close, blank, ...text, end];
    const reply = { reasoningIds: text.length + 5 };
    const next = [...prompt, ...text, end, newline, ...later];
    expect(breakOf({ completion, reply, next })).toEqual([begun, 'thinking-stripped']);
  });

  it('is not thinking-stripped where the thinking is handed back in other ids', () => {
    const completion = [...thinking, ...text, end];
    const reply = { reasoningIds: thinking.length };
    const encodedAnew = [open, newline, thought[0] ?? 0, 9_999, ...thinking.slice(5)];
    const next = [...prompt, ...encodedAnew, ...text, end, newline, ...later];
    expect(breakOf({ completion, reply, next })).toEqual([begun + 3, 'template']);
  });

  it('C66: is stop-token where the id that ended the reply is another one, or none', () => {
    const completion = [...text, eos];
    const at = begun + text.length;
    expect(breakOf({ completion, next: [...prompt, ...text, end, newline, ...later] })).toEqual([
      at,
      'stop-token',
    ]);
    expect(breakOf({ completion, next: [...prompt, ...text, newline, ...later] })).toEqual([
      at,
      'stop-token',
    ]);
  });

  it('is no break where the reply was cut at its length and the template ends it', () => {
    const reply = { finishReason: 'length' as const };
    const next = [...prompt, ...text, end, newline, ...later];
    expect(breakOf({ completion: text, reply, next })).toEqual([null, null]);
  });

  it('is retokenized where other ids stand for the same text', () => {
    const completion = [...text.slice(0, 3), 11, 12, ...text.slice(4), end];
    const next = [...prompt, ...text, end, newline, ...later];
    expect(breakOf({ completion, next })).toEqual([begun + 3, 'retokenized']);
    // At the very end of the reply the id that ended it is where both meet.
    const last = [...text.slice(0, -1), 11, 12, end];
    expect(breakOf({ completion: last, next })).toEqual([begun + text.length - 1, 'retokenized']);
  });

  it('is template where text of the reply is left out, and where what was said before it changes', () => {
    const completion = [...text, newline, end];
    const trimmed = [...prompt, ...text, end, newline, ...later];
    expect(breakOf({ completion, next: trimmed })).toEqual([begun + text.length, 'template']);
    const dated = [...say(user, [...task.slice(0, 2), 99, ...task.slice(3)]), ...opening];
    expect(breakOf({ completion, next: [...dated, ...text, end, newline, ...later] })).toEqual([
      5,
      'template',
    ]);
  });

  it('is calls-rewritten in a reply that called tools: they are written anew from what was parsed', () => {
    const completion = [...text, end];
    const reply = { toolCalls: [{ id: 'a', name: 'bash', arguments: '{}' }], text: 'said' };
    const next = [...prompt, ...text.slice(0, 4), 11, ...text.slice(5), end, newline, ...later];
    expect(breakOf({ completion, reply, next })).toEqual([begun + 4, 'calls-rewritten']);
  });

  it('is history-changed where the scaffold says another history, whatever the ids are', () => {
    const completion = [...thinking, ...text, end];
    const reply = { reasoningIds: thinking.length };
    const next = [...say(user, [...task, 1]), ...opening];
    for (const messages of [
      [{ role: 'user', content: 'a summary' }],
      [...asked, { role: 'assistant', content: 'another reply' }, { role: 'user', content: 'screen' }],
      asked,
    ] satisfies ChatMessage[][]) {
      expect(breakOf({ completion, reply, next, messages })[1]).toBe('history-changed');
    }
  });
});
