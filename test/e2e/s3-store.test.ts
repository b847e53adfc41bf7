// A sweep whose results lie in S3, on a real server that is away for a while.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { openStore } from '../../store/open.ts';
import { readStoreId } from '../../store/store-id.ts';
import { readPlan, readVerdicts } from '../../store/verdicts.ts';
import { VerdictSchema, type Verdict } from '../../domain/verdict.ts';
import { ensureBase } from '../support/base-image.ts';
import { expectCode, openScene, reach, type Scene } from '../support/passband.ts';
import { s3StartTimeoutMs, startS3Server, type S3Server } from '../support/s3.ts';
import { startProxy, type Proxy } from '../support/s3-proxy.ts';
import { writeTasks } from '../support/small-tasks.ts';

const attempts = 5;
const sweep = 'in-s3';

let scene: Scene;
let server: S3Server;
let proxy: Proxy;
let away = false;
beforeAll(async () => {
  await ensureBase();
  server = await startS3Server();
  const unavailable = { status: 503, code: 'ServiceUnavailable' };
  proxy = await startProxy({ target: server.endpoint, refuse: () => (away ? unavailable : null) });
  scene = await openScene();
}, s3StartTimeoutMs);
afterAll(async () => {
  await scene.close();
  await proxy.stop();
  await server.stop();
});

const urlAt = (endpoint: string): string => `s3://${server.bucket}/results?endpoint=${endpoint}`;

/** What lies in the bucket, past the proxy. */
async function verdictsInBucket(): Promise<Verdict[]> {
  const store = await openStore(urlAt(server.endpoint), process.env);
  try {
    const plan = await readPlan(store, sweep);
    const verdicts: Verdict[] = [];
    for await (const { verdict } of readVerdicts(store, plan, VerdictSchema)) verdicts.push(verdict);
    return verdicts;
  } finally {
    await store.close();
  }
}

test('C57: verdicts land in S3 once, also when it is away for a while, and are read back from there', async () => {
  const tasks = await writeTasks(path.join(scene.dir, 'tasks'), { hello: {} });
  const onStore = ['--store', urlAt(proxy.endpoint), '--json'];
  const running = scene.start(
    [
      ...['sweep', 'start', '--tasks', tasks, '--model', 'known-rate-0.5', '--attempts', String(attempts)],
      ...['--concurrency', '1', '--name', sweep, ...onStore],
    ],
    { env: { PASSBAND_DEBUG: '1' } },
  );
  await reach(running, 'a verdict', () => running.said().includes('recordVerdict done'));
  // Where the scene finds its containers by.
  const store = await openStore(urlAt(server.endpoint), process.env);
  await mkdir(path.join(scene.store, 'v1'), { recursive: true });
  await writeFile(
    path.join(scene.store, 'v1/store.json'),
    JSON.stringify({ id: await readStoreId(store).finally(() => store.close()) }),
  );

  away = true;
  await reach(running, 'a phase that misses the store', () => running.said().includes('StoreUnavailable'));
  away = false;
  expect((await verdictsInBucket()).length).toBeLessThan(attempts);

  const ended = await running.ended;
  expectCode(ended, 0);
  const SummarySchema = z.object({ planned: z.int(), counted: z.int(), failures: z.object({}) });
  expect(SummarySchema.parse(JSON.parse(ended.stdout))).toEqual({
    planned: attempts,
    counted: attempts,
    failures: {},
  });
  const verdicts = await verdictsInBucket();
  expect(verdicts.map(({ trial, generation }) => [trial.attempt, generation])).toEqual(
    Array.from({ length: attempts }, (_, at) => [at + 1, 1]),
  );

  const calibration = await scene.run(['calibrate', sweep, ...onStore]);
  expectCode(calibration, 0);
  expect(JSON.parse(calibration.stdout)).toMatchObject({ ok: true, agree: attempts, missing: [] });
  const bands = await scene.run(['bands', sweep, ...onStore]);
  expectCode(bands, 0);
  expect(JSON.parse(bands.stdout)).toMatchObject([{ task: 'hello', n_counted: attempts, k: attempts }]);
  await scene.expectNothingLeft();
});
