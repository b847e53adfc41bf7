// TOML with positions: values as written, and every key on its own line.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readToml, type KeyPath } from '../../tasks/toml.ts';

const key = fc.stringMatching(/^[a-z][a-z0-9_]{0,8}$/);
const leaf = fc.oneof(
  fc.integer(),
  fc.boolean(),
  fc.string().filter((text) => !/\p{C}|\p{Zl}|\p{Zp}/u.test(text)),
);
const table = fc.dictionary(key, leaf, { minKeys: 1, maxKeys: 6, noNullPrototype: true });

it('gives back what was written, with the line of each key', () => {
  fc.assert(
    fc.property(fc.dictionary(key, table, { minKeys: 1, noNullPrototype: true }), (document) => {
      const lines: string[] = [];
      const expected: [string, string, number][] = [];
      for (const [name, values] of Object.entries(document)) {
        lines.push('', `[${name}]`);
        for (const [inner, value] of Object.entries(values)) {
          lines.push(`${inner} = ${JSON.stringify(value)}`);
          expected.push([name, inner, lines.length]);
        }
      }
      const reading = readToml(lines.join('\n'));
      if (!reading.ok) throw new Error(reading.message);
      expect(reading.document.value).toEqual(document);
      for (const [name, inner, line] of expected) expect(reading.document.lineOf([name, inner])).toBe(line);
    }),
  );
});

it('knows lines inside arrays, inline tables, dotted keys and arrays of tables', () => {
  const reading = readToml(
    'a.b = {c = 1}\nlist = [\n  "x",\n  {y = 1},\n]\n[[s]]\nn = 1\n[[s]]\n[s.v]\nt = 2\n',
  );
  if (!reading.ok) throw new Error(reading.message);
  const lineOf = (path: KeyPath): number | null => reading.document.lineOf(path);
  expect(lineOf(['a', 'b', 'c'])).toBe(1);
  expect(lineOf(['list', 1, 'y'])).toBe(4);
  expect(lineOf(['s', 0, 'n'])).toBe(7);
  expect(lineOf(['s', 1])).toBe(8);
  expect(lineOf(['s', 1, 'v', 't'])).toBe(10);
  expect(lineOf(['s', 1, 'missing'])).toBe(8);
  expect(lineOf(['missing'])).toBeNull();
});

it.each([
  ['a = 1\nb = \nc = 2\n', 2],
  ['a = 1\r\nb =\r\n\r\nc = 2\r\n', 2],
  ['a = 1\nb\nc = 2\n', 2],
  ['a = 1\n[t\nc = 2\n', 2],
  ['a = 1\nb = "x\nc = 2\n', 2],
  ['a = 1\nb = {x = 1\nc = 2\n', 2],
  ['a = 1\n= 2\n', 2],
  ['a = 1\na = 2\n', 2],
  ['[a]\n[b]\n[a]\n', 3],
])('names the faulty line of %j: %i', (text, line) => {
  expect(readToml(text)).toMatchObject({ ok: false, line });
});
