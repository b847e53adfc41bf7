// Splits files: CSV and JSONL, and what is refused.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readSplits } from '../../cli/splits.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'splits-'));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function splits(text: string): Promise<[string, string][]> {
  const file = path.join(dir, 'splits');
  await writeFile(file, text);
  return [...(await readSplits(file))];
}

it('reads CSV with and without its head, and JSONL', async () => {
  const expected = [
    ['org/a', 'train'],
    ['b', 'held-out'],
  ];
  expect(await splits('task,split\norg/a,train\nb,held-out\n')).toEqual(expected);
  expect(await splits('org/a, train\n\nb,held-out')).toEqual(expected);
  expect(
    await splits('{"task":"org/a","split":"train"}\n{"task":"b","split":"held-out","more":1}\n'),
  ).toEqual(expected);
});

it('is empty where no file is named', async () => {
  expect([...(await readSplits(undefined))]).toEqual([]);
});

it.each([
  ['a', /splits:1: each line is/],
  ['a,train\nb,', /splits:2: each line is/],
  ['{"task":"a"', /splits:1: not valid JSON/],
  ['a,train\na,test', /splits:2: a is in train already/],
])('names the line of %j', async (text, message) => {
  await expect(splits(text)).rejects.toThrow(message);
});
