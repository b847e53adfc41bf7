// Whatever stands in a compose file, reading it ends in a task or in findings, and never in an exception.
import fc from 'fast-check';
import { it } from 'vitest';
import { Findings } from '../../../tasks/findings.ts';
import type { Layout } from '../../../tasks/layout.ts';
import { buildKeys, serviceKeys, topKeys } from '../../../tasks/compose/keys.ts';
import { readServices } from '../../../tasks/compose/read-services.ts';
import { defaultLimits, type Limits } from '../../../domain/task.ts';

const limits = Object.fromEntries(
  Object.entries(defaultLimits).map(([name, value]) => [name, { value, setBy: 'default' }]),
) as Limits;

const layoutWith = (text: string): Layout => ({
  folder: { files: [], texts: new Map() },
  hasFile: (path) => path === 'environment/docker-compose.yaml',
  hasDir: () => false,
  readText: () => Promise.resolve(text),
});

const read = async (text: string): Promise<void> => {
  await readServices({
    path: 'environment/docker-compose.yaml',
    layout: layoutWith(text),
    findings: new Findings(false),
    limits,
    image: { kind: 'build', dir: 'environment', dockerfile: 'Dockerfile' },
  });
};

const words = [
  '${',
  '$A',
  '/a:/b:ro',
  '5432',
  '1s',
  '512m',
  'service:a',
  'a',
  '..',
  '~/x',
  '',
  '__proto__',
  '"',
];
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(...words),
  fc.array(fc.oneof(fc.constantFrom(...words), fc.jsonValue({ maxDepth: 1 })), { maxLength: 3 }),
  fc.dictionary(fc.constantFrom('a', 'main', ...Object.keys(buildKeys)), fc.jsonValue({ maxDepth: 1 })),
);
const service = fc.dictionary(fc.constantFrom(...Object.keys(serviceKeys), 'x-a', 'odd'), value, {
  maxKeys: 6,
});

it('any keys with any values', async () => {
  const services = fc.dictionary(fc.constantFrom('main', 'a', 'b', 'client', '1'), fc.oneof(service, value));
  const file = fc.record({ services, more: fc.dictionary(fc.constantFrom(...Object.keys(topKeys)), value) });
  await fc.assert(
    fc.asyncProperty(file, async ({ services: table, more }) =>
      read(JSON.stringify({ ...more, services: table })),
    ),
    { numRuns: 500 },
  );
});

it('any text', async () => {
  const lines = fc.array(
    fc.oneof(
      fc.string(),
      fc.constantFrom(
        'services:',
        '  main:',
        '    <<: *a',
        '  a: &a',
        '    image: x',
        '    command: !reset',
        '- ',
        '? a',
      ),
    ),
  );
  await fc.assert(
    fc.asyncProperty(lines, async (all) => read(all.join('\n'))),
    { numRuns: 300 },
  );
});
