// The toy tokenizer: reversible, and a turn's ids extend the last turn's.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completionOf } from '../../instruments/known-rate/answers.ts';
import {
  decode,
  encode,
  readChat,
  renderChat,
  vocabularySize,
  type Said,
} from '../../instruments/known-rate/tokens.ts';

const text = fc.string({ unit: 'binary' }).filter((value) => value.isWellFormed());
const said: fc.Arbitrary<Said> = fc.record({
  role: fc.constantFrom('system', 'user', 'assistant', 'tool'),
  content: text,
});

describe('the tokenizer', () => {
  it('gives any text back', () => {
    fc.assert(fc.property(text, (value) => decode(encode(value)) === value));
  });

  it('keeps every id in its vocabulary', () => {
    fc.assert(
      fc.property(fc.array(said), (messages) =>
        renderChat(messages).every((id) => Number.isInteger(id) && id >= 0 && id < vocabularySize),
      ),
    );
  });

  it('gives any chat back from its ids, empty messages included', () => {
    fc.assert(
      fc.property(fc.array(said, { minLength: 1 }), (messages) => {
        expect(readChat(renderChat(messages))).toEqual(messages);
      }),
    );
  });

  it('reads ids without marks as one user message', () => {
    expect(readChat(encode('héllo'))).toEqual([{ role: 'user', content: 'héllo' }]);
  });

  it('extends ids(n) + completion(n) by ids(n+1)', () => {
    fc.assert(
      fc.property(fc.array(said), text, text, (before, reply, next) => {
        const prompt = renderChat(before);
        const { completionIds } = completionOf(
          { thought: '', spoken: { content: reply, calls: [] } },
          1_000_000,
        );
        const extended = [...prompt, ...completionIds];
        const later = renderChat([
          ...before,
          { role: 'assistant', content: reply },
          { role: 'user', content: next },
        ]);
        expect(later.slice(0, extended.length)).toEqual(extended);
      }),
    );
  });
});
