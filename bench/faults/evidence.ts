// What a bench leaves to be judged: its stored objects, verdicts and failures, and what is left in the cluster.
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import pMap from 'p-map';
import { calibrateSweep } from '../../cli/calibrate.ts';
import type { Calibration } from '../../instruments/calibrate.ts';
import { failuresPrefix, verdictKey } from '../../domain/layout.ts';
import { FailureRecordSchema, VerdictSchema, type FailureRecord } from '../../domain/verdict.ts';
import { readJson } from '../../store/objects.ts';
import type { Store } from '../../store/port.ts';
import { trialsOf } from '../../store/verdicts.ts';
import { namesIn } from '../../test/support/cluster-names.ts';
import type { TrialEnd } from './checks.ts';
import type { OpenScene } from './scene.ts';
import { nameOfTrial } from './ways.ts';

const readsAtOnce = 32;
/** What is removed in the background goes in this time. */
const goneMs = 90_000;

export interface Evidence {
  readonly trials: readonly TrialEnd[];
  readonly failures: readonly FailureRecord[];
  readonly calibrations: readonly Calibration[];
  readonly keys: readonly string[];
  /** Keys of uploads that were neither ended nor given up. */
  readonly uploads: readonly string[];
  /** Keys of blobs that are not of their digest, and of objects that are no JSON. */
  readonly torn: readonly string[];
  /** Keys of blobs that no object names. */
  readonly unnamedBlobs: readonly string[];
}

export async function gatherEvidence(
  { store, s3, sweeps, ways }: OpenScene,
  seed: number,
): Promise<Evidence> {
  const keys: string[] = [];
  for await (const { key } of store.list('')) keys.push(key);
  const failures: FailureRecord[] = [];
  const ends = sweeps.plans.flatMap((plan) => [...trialsOf(plan)]);
  const trials = await pMap(
    ends,
    async ({ path, model, attempt }): Promise<TrialEnd> => {
      const verdict = await readJson(store, verdictKey(path), VerdictSchema);
      const own = await readFailures(store, failuresPrefix(path));
      failures.push(...own);
      const intent = { task: path.task, model: model.name, attempt };
      return {
        trial: nameOfTrial(path.sweep, intent),
        verdict,
        failure: verdict === null ? (own.at(-1) ?? null) : null,
        way: ways.wayOf(path.sweep, intent),
      };
    },
    { concurrency: readsAtOnce },
  );
  const calibrations = await pMap(sweeps.plans, ({ sweep }) => calibrateSweep(store, sweep, seed), {
    concurrency: 1,
  });
  return {
    ...{ trials, failures, calibrations, keys },
    uploads: await uploadsIn(s3),
    ...(await readObjects(store, keys)),
  };
}

async function readFailures(store: Store, prefix: string): Promise<FailureRecord[]> {
  const found: FailureRecord[] = [];
  for await (const { key } of store.list(prefix)) {
    const record = await readJson(store, key, FailureRecordSchema);
    if (record !== null) found.push(record);
  }
  return found;
}

async function uploadsIn({ endpoint, bucket }: OpenScene['s3']): Promise<string[]> {
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true });
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
  client.destroy();
  return Uploads.map(({ Key }) => Key ?? '?');
}

/** Digests stand in JSON as they are: in records, and in manifests, which are blobs themselves. */
async function readObjects(
  store: Store,
  keys: readonly string[],
): Promise<Pick<Evidence, 'torn' | 'unnamedBlobs'>> {
  const named = new Set<string>();
  const torn: string[] = [];
  await pMap(
    keys,
    async (key) => {
      const body = Buffer.from((await store.get(key)) ?? '');
      const whole = key.startsWith(blobs)
        ? key.endsWith(sha256Of(body))
        : !key.endsWith('.json') || isJson(body);
      if (!whole) torn.push(key);
      if (body[0] !== openingBrace) return;
      for (const [sha] of body.toString('latin1').matchAll(/[0-9a-f]{64}/g)) named.add(sha);
    },
    { concurrency: readsAtOnce },
  );
  return { torn, unnamedBlobs: keys.filter((key) => key.startsWith(blobs) && !named.has(key.slice(-64))) };
}

const blobs = 'v1/blobs/';
const openingBrace = '{'.charCodeAt(0);
const sha256Of = (body: Buffer): string => createHash('sha256').update(body).digest('hex');

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString());
    return true;
  } catch {
    return false;
  }
}

/** What a namespace holds that it did not before the sweeps, after a while for what goes in the background. */
export async function leftIn(
  { cluster, namespace }: Pick<OpenScene, 'cluster' | 'namespace'>,
  before: readonly string[],
): Promise<string[]> {
  const untilMs = performance.now() + goneMs;
  for (;;) {
    const left = (await namesIn(cluster, namespace)).filter((name) => !before.includes(name));
    if (left.length === 0 || performance.now() > untilMs) return left;
    await sleep(1_000);
  }
}
