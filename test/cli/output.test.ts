// Errors as one line and an exit status; tables.
import { expect, it } from 'vitest';
import { describeError, flagText, formatTable } from '../../cli/output.ts';
import { ClassifiedError, InputError } from '../../domain/errors.ts';

it.each([
  [new InputError('bad flag'), 'bad flag', 2],
  [new InputError('no engine', 69), 'no engine', 69],
  [new ClassifiedError('ModelNotFound', 'no such model'), 'ModelNotFound: no such model', 2],
  [new ClassifiedError('StoreUnavailable', 'away'), 'StoreUnavailable: away', 69],
  [new TypeError('x is y\nat z'), 'unexpected: x is y (set PASSBAND_DEBUG=1 to see where)', 70],
  ['thrown text', 'unexpected: thrown text (set PASSBAND_DEBUG=1 to see where)', 70],
])('%s is one line and an exit status', (error, line, exitCode) => {
  expect(describeError(error)).toEqual({ line, exitCode });
});

it('aligns numbers to the right and leaves no blanks at the ends of lines', () => {
  expect(
    formatTable(
      ['name', 'n'],
      [
        ['a', 1],
        ['long', 22],
      ],
    ),
  ).toBe('name   n\na      1\nlong  22');
});

it.each([
  [undefined, ''],
  ['./results', ' --store ./results'],
  ['s3://bucket/a?region=eu&pathStyle=1', " --store 's3://bucket/a?region=eu&pathStyle=1'"],
  ["it's", ` --store 'it'\\''s'`],
])('spells a flag with %s as a shell takes it', (value, text) => {
  expect(flagText('--store', value)).toBe(text);
});
