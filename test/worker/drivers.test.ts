// The driver that a worker's configuration names.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDriver } from '../../worker/drivers.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'passband-drivers-'));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

const kubeconfig = `apiVersion: v1
kind: Config
current-context: there
clusters: [{ name: there, cluster: { server: 'https://127.0.0.1:1' } }]
contexts: [{ name: there, context: { cluster: there, user: me } }]
users: [{ name: me, user: {} }]
`;

test('is the engine’s, or a cluster’s by its file; nothing is asked of either yet', async () => {
  await writeFile(path.join(dir, 'kubeconfig'), kubeconfig);
  const file = path.join(dir, 'kubernetes.yaml');
  await writeFile(file, 'kubeconfig: kubeconfig\nregistry: { repository: registry:5000 }\n');
  const engine = await openDriver({ sandbox: 'engine', engine: '/nowhere.sock' }, {});
  const cluster = await openDriver({ sandbox: 'kubernetes', kubernetes: file }, {});
  expect([engine.name, cluster.name]).toEqual(['engine', 'kubernetes']);
  await expect(cluster.check()).rejects.toMatchObject({ failureClass: 'PlatformUnavailable' });
  await cluster.close();
  await engine.close();
});

test('a cluster without a file is refused as bad configuration', async () => {
  await expect(openDriver({ sandbox: 'kubernetes', kubernetes: null }, {})).rejects.toMatchObject({
    exitCode: 78,
  });
});
