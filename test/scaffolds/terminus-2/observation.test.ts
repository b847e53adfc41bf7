// The limit of an observation is one of bytes: characters of several are kept whole or left out.
import { describe, expect, it } from 'vitest';
import { describeObservation, outputLimitBytes } from '../../../scaffolds/terminus-2/observation.ts';

const label = 'New Terminal Output:\n';
const shown = (fresh: string): string =>
  describeObservation({ alive: true, fresh, screen: '' }).slice(label.length);
const line = /\n\[output limited to 10000 bytes: (\d+) bytes in the middle are left out\]\n/;

describe('an observation over its limit', () => {
  it.each([
    ['two', 'é'],
    ['three', '中'],
    ['four', '🦀'],
  ])('holds no half of a character of %s bytes, wherever the cuts fall', (_name, character) => {
    for (let shift = 0; shift < 4; shift += 1) {
      const text = `${'a'.repeat(shift)}${character.repeat(6_000)}${'b'.repeat(shift)}`;
      const [head = '', omitted, tail = ''] = shown(text).split(line);
      expect(text.startsWith(head)).toBe(true);
      expect(text.endsWith(tail)).toBe(true);
      expect(`${head}${tail}`).not.toContain('\ufffd');
      const sizes = [head, tail].map((part) => Buffer.byteLength(part));
      for (const size of sizes) {
        expect(size).toBeLessThanOrEqual(outputLimitBytes / 2);
        expect(size).toBeGreaterThan(outputLimitBytes / 2 - 4);
      }
      expect(Number(omitted) + Buffer.byteLength(`${head}${tail}`)).toBe(Buffer.byteLength(text));
    }
  });
});
