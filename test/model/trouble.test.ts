// What kind of trouble an HTTP answer tells of: a server that asks for less, or one that cannot serve.
import { expect, it } from 'vitest';
import { troubleOfStatus } from '../../model/trouble.ts';

it.each([
  [429, '', null, 'overloaded'],
  [529, 'Overloaded', null, 'overloaded'],
  [503, 'Model is overloaded, try again later', null, 'overloaded'],
  [503, 'server too busy', null, 'overloaded'],
  [503, '', 3_000, 'overloaded'],
  [503, '<html>503 Service Unavailable</html>', null, 'away'],
  [500, 'EngineCore encountered an issue', null, 'away'],
  [502, '<html>502 Bad Gateway</html>', null, 'away'],
  [408, '', null, 'away'],
] as const)('%i %j with a delay of %s is %s', (status, said, delayMs, kind) => {
  expect(troubleOfStatus(status, said, delayMs)).toBe(kind);
});
