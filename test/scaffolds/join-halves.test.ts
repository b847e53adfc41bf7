// The text of a bounded output.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinHalves } from '../../scaffolds/join-halves.ts';

/** What a sandbox keeps of a text: first half and last half, by bytes. */
function keep(text: string, limit: number): { readonly kept: Buffer; readonly omitted: number } {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return { kept: bytes, omitted: 0 };
  const half = Math.floor(limit / 2);
  const tail = bytes.subarray(bytes.length - (limit - half));
  return { kept: Buffer.concat([bytes.subarray(0, half), tail]), omitted: bytes.length - limit };
}
const bounded = (text: string, limit: number): string => {
  const { kept, omitted } = keep(text, limit);
  return joinHalves(kept, omitted, limit);
};

describe('joinHalves', () => {
  it('is the whole text where nothing was left out', () => {
    expect(bounded('añ🙂', 100)).toBe('añ🙂');
  });

  it('says between the halves how much was left out', () => {
    expect(bounded('aaaabbbbcccc', 8)).toBe(
      'aaaa\n[output limited to 8 bytes: 4 bytes in the middle are left out]\ncccc',
    );
  });

  it.each(['ñ', '中', '🙂'])('cuts no %s in two', (character) => {
    for (let limit = 10; limit < 30; limit += 1) {
      const text = bounded(character.repeat(50), limit);
      expect(text).not.toContain('\uFFFD');
      const [head = '', , tail = ''] = text.split('\n');
      const left = Number(/: (\d+) bytes/.exec(text)?.[1]);
      expect(Buffer.byteLength(head + tail) + left).toBe(Buffer.byteLength(character) * 50);
    }
  });

  it('never breaks a character that was whole, whatever the text and the limit', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1 }),
        fc.integer({ min: 2, max: 60 }),
        (text, limit) => {
          expect(bounded(text, limit).includes('\uFFFD')).toBe(text.includes('\uFFFD'));
        },
      ),
    );
  });

  it('shows bytes that are no UTF-8 as such', () => {
    expect(joinHalves(Buffer.from([0xff, 0x61, 0x62, 0xfe]), 5, 4)).toMatch(/^\uFFFDa\n.*\nb\uFFFD$/s);
  });
});
