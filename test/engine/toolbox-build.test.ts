// The supervisor's own tests, compiled and run where the toolbox is built: Debian 12's Go.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Entry, Harness } from '../sandbox/conformance/harness.ts';
import { buildImage, engineHarness } from '../support/engine-harness.ts';

const toolbox = fileURLToPath(new URL('../../toolbox', import.meta.url));

describe('the build of the toolbox', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await engineHarness();
  });
  afterAll(() => harness.close());

  it('passes the tests that lie beside its source', async () => {
    const dockerfile = await readFile(join(toolbox, 'Dockerfile'), 'utf8');
    const [stage] = dockerfile.split('\nFROM scratch');
    const names = await readdir(join(toolbox, 'supervisor'));
    const sources = names.map(async (name): Promise<Entry> => {
      const content = await readFile(join(toolbox, 'supervisor', name));
      return { header: { name: `supervisor/${name}` }, content };
    });
    const check = 'RUN cd /src && CGO_ENABLED=0 go vet . && CGO_ENABLED=0 go test -count=1 .\n';
    const entries = [
      { header: { name: 'Dockerfile' }, content: `${stage ?? ''}\n${check}` },
      ...(await Promise.all(sources)),
    ];
    const image = await buildImage(harness.otherDriver, `toolbox-tests-${process.pid}`, entries);
    expect(image.digest).not.toBe('');
  });
});
