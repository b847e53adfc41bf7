// The Podman service that the product starts for itself: what it leaves behind, however it ends.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { findEngine } from '../../embedded/engine.ts';
import { createEngineDriver } from '../../sandbox/engine/driver.ts';
import { parseEndpoint } from '../../sandbox/engine/endpoint.ts';
import { tarOf } from '../sandbox/conformance/harness.ts';
import { ensureBase } from '../support/base-image.ts';
import { processesNaming, processesRunning } from '../support/left-processes.ts';

let folder: string;
beforeEach(async () => {
  await ensureBase();
  folder = await mkdtemp(path.join(tmpdir(), 'passband-embedded-'));
  vi.stubEnv('TMPDIR', folder);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

it('leaves no temporary file where it is killed while it builds an image', async (context) => {
  const engine = await findEngine(null, process.env);
  if (!engine.started) context.skip('an engine runs on this machine already');
  const driver = createEngineDriver(parseEndpoint(engine.endpoint));
  const building = `sleep 9.${Date.now()}`;
  const dockerfile = { header: { name: 'Dockerfile' }, content: `FROM debian:12\nRUN ${building}\n` };
  try {
    const made = driver.images
      .ensure({
        ...{ kind: 'build', digest: building, offline: false, dockerfile: 'Dockerfile', timeoutMs: 60_000 },
        context: () => Promise.resolve(tarOf([dockerfile])),
      })
      .catch((error: unknown) => error);
    await expect.poll(() => processesRunning(building), { timeout: 60_000 }).not.toEqual([]);
    for (const { pid, command } of await processesNaming(engine.endpoint)) {
      if (command.includes('podman system service') && !command.startsWith('sh '))
        process.kill(pid, 'SIGKILL');
    }
    await expect(made).resolves.toBeInstanceOf(Error);
  } finally {
    await driver.close();
    await engine.stop();
  }
  expect(await readdir(folder)).toEqual([]);
});
