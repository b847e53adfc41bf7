// The tables of docs/compose.md are the tables of the code.
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { buildKeys, serviceKeys, topKeys, type KeyRule } from '../../../tasks/compose/keys.ts';

const page = await readFile(new URL('../../../docs/compose.md', import.meta.url), 'utf8');

it.each<[string, Readonly<Record<string, KeyRule>>]>([
  ['Of a service', serviceKeys],
  ['Of `build`', buildKeys],
  ['Of the file', topKeys],
])('docs/compose.md tells every key and its decision: %s', (heading, rules) => {
  const section = page.split(`### ${heading}\n`)[1]?.split(/^#/m)[0] ?? '';
  const told = [...section.matchAll(/^\| `(\S+)`\s*\| (\S+)\s*\| (.*?)\s*\|$/gm)].map(
    ([, key, decision, why]) => [key, { decision, why }],
  );
  expect(Object.fromEntries(told)).toEqual(rules);
});
