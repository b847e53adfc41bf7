// A worker whose store or cluster is away as it starts: it ends, so that whoever keeps workers can start another.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const main = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
/** A port that nobody listens on. */
const nowhere = 'http://127.0.0.1:9';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'passband-no-start-'));
  const cluster = { name: 'none', cluster: { server: nowhere, 'insecure-skip-tls-verify': true } };
  const user = { name: 'none', user: { token: 'nobody' } };
  const context = { name: 'none', context: { cluster: 'none', user: 'none' } };
  const config = { clusters: [cluster], users: [user], contexts: [context], 'current-context': 'none' };
  await writeFile(path.join(dir, 'kubeconfig'), JSON.stringify(config));
  const driver = {
    kubeconfig: path.join(dir, 'kubeconfig'),
    registry: { repository: '127.0.0.1:9/passband' },
  };
  await writeFile(path.join(dir, 'kubernetes.yaml'), JSON.stringify(driver));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function ends(store: string): Promise<{ readonly code: number | null; readonly said: string }> {
  const flags = [
    '--sandbox',
    'kubernetes',
    '--kubernetes',
    path.join(dir, 'kubernetes.yaml'),
    '--store',
    store,
  ];
  const keys = { AWS_ACCESS_KEY_ID: 'nobody', AWS_SECRET_ACCESS_KEY: 'nothing' };
  const child = spawn(process.execPath, [main, 'worker', ...flags], {
    ...{ env: { ...process.env, ...keys }, stdio: ['ignore', 'ignore', 'pipe'], killSignal: 'SIGKILL' },
    timeout: 40_000,
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
}

test('a worker whose cluster does not answer says so and ends with 69', async () => {
  const { code, said } = await ends(path.join(dir, 'store'));
  expect(said).toContain('PlatformUnavailable');
  expect(code).toBe(69);
});

test('a worker whose store does not answer says so and ends with 69', async () => {
  const { code, said } = await ends(`s3://results?endpoint=${nowhere}`);
  expect(said).toContain('StoreUnavailable');
  expect(code).toBe(69);
});
