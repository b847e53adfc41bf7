// The command that goes on with an interrupted demo.
import { expect, it } from 'vitest';
import { goingOnBy } from '../../cli/demo.ts';

const given = { name: 'demo', concurrency: 8 };
const byNpm = { npm_lifecycle_event: 'demo' };

it.each([
  ['as npm ran it', given, byNpm, 'npm run demo'],
  ['as npx ran it', given, { npm_lifecycle_event: 'npx' }, 'npx passband demo'],
  [
    'with the name and the store that were given',
    { ...given, name: 'second', store: './my results' },
    byNpm,
    "npm run demo -- --name second --store './my results'",
  ],
  [
    'with what else was given',
    { ...given, engine: 'tcp://127.0.0.1:2375', concurrency: 2, json: true },
    {},
    'npx passband demo --engine tcp://127.0.0.1:2375 --concurrency 2',
  ],
])('is spelled %s', (_, flags, env, command) => {
  expect(goingOnBy(flags, env)).toBe(command);
});
