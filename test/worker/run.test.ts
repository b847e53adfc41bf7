// A worker against a server that is there, and one that is not.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { InputError } from '../../domain/errors.ts';
import { startTemporal } from '../../embedded/temporal.ts';
import type { SandboxDriver } from '../../sandbox/port.ts';
import { openStore } from '../../store/open.ts';
import { readWorkerConfig } from '../../worker/config.ts';
import { createLogger } from '../../worker/logger.ts';
import { runWorker } from '../../worker/run.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'passband-worker-'));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

const refused = (): never => {
  throw new Error('no sandbox is asked for in this test');
};
const driver: SandboxDriver = {
  name: 'engine',
  images: { ensure: refused },
  unsupported: () => [],
  clash: () => Promise.resolve(null),
  create: refused,
  open: refused,
  destroy: refused,
  list: () => Promise.resolve([]),
  surveyEgress: refused,
  removeAll: refused,
  check: () => Promise.resolve({ version: '1', endpoint: '/run/test.sock' }),
  close: () => Promise.resolve(),
};

async function run(address: string, lines: string[], stop: AbortSignal): Promise<void> {
  const destination = {
    write: (line: string) => {
      lines.push(line);
    },
  };
  await runWorker({
    config: readWorkerConfig({ PASSBAND_TEMPORAL_ADDRESS: address, PASSBAND_WORKER_DRAIN_SEC: '1' }),
    store: await openStore(dir),
    driver,
    env: {},
    log: createLogger({ level: 'info', env: {}, destination }),
    stop,
  });
}

describe('a worker', () => {
  test('says in one line that no Temporal server answers, with the address and what to do', async () => {
    const error: unknown = await run('127.0.0.1:9', [], new AbortController().signal).catch(
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(InputError);
    expect(error).toMatchObject({ exitCode: 69 });
    expect(String(error)).toContain('no Temporal server answers at 127.0.0.1:9');
    expect(String(error)).toContain('--temporal');
    expect(String(error)).not.toContain('\n');
  });

  test('listens until it is told to stop, then drains and ends', async () => {
    const server = await startTemporal({ dir, binary: null, env: process.env, note: () => undefined });
    const stop = new AbortController();
    const lines: string[] = [];
    const running = run(server.address, lines, stop.signal);
    while (!lines.some((line) => line.includes('worker listens'))) {
      await Promise.race([running, new Promise((go) => setTimeout(go, 50))]);
    }
    stop.abort();
    await running;
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      'worker listens',
      'worker drains',
      'worker ended',
    ]);
    await server.stop();
  });
});
