// Sweeps on the test cluster as an operator runs them: the CLI beside it, results in its S3, models on an address that pods could reach.
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { phases, readPhase } from '../../activities/phase-records.ts';
import { trialGrading } from '../../activities/subject.ts';
import { failuresPrefix, planKey, replyKey, trialsPrefix } from '../../domain/layout.ts';
import type { NetworkProof } from '../../domain/network.ts';
import { PlanSchema } from '../../domain/sweep.ts';
import {
  FailureRecordSchema,
  VerdictSchema,
  type FailureRecord,
  type Verdict,
} from '../../domain/verdict.ts';
import type { KubernetesConfig } from '../../k8s/config.ts';
import { readJson } from '../../store/objects.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/port.ts';
import { readPlan, readVerdicts, trialsOf } from '../../store/verdicts.ts';
import { namesIn } from './cluster-names.ts';
import type { TestCluster } from './cluster.ts';
import { makeBucket } from './installed-chart.ts';
import { openScene, type Ended, type Running, type Scene } from './passband.ts';

const bucket = 'passband-sweeps';
/** What is removed in the background goes in this time. */
const goneMs = 60_000;

export interface ClusterScene {
  readonly scene: Scene;
  readonly cluster: TestCluster;
  /** Of --store: a prefix of its own in the cluster's S3. */
  readonly storeUrl: string;
  readonly store: Store;
  readonly start: (args: readonly string[]) => Running;
  readonly run: (args: readonly string[]) => Promise<Ended>;
  readonly close: () => Promise<void>;
}

export async function openClusterScene(cluster: TestCluster): Promise<ClusterScene> {
  const scene = await openScene();
  await makeBucket(cluster, bucket);
  const storeUrl = `s3://${bucket}/${randomUUID()}?endpoint=${cluster.s3.endpoint}`;
  const env = { AWS_ACCESS_KEY_ID: cluster.s3.access, AWS_SECRET_ACCESS_KEY: cluster.s3.secret };
  // The SDK reads them from the process itself.
  Object.assign(process.env, env);
  const store = await openStore(storeUrl, process.env);
  const onStore = { env: { ...env, PASSBAND_STORE: storeUrl } };
  return {
    ...{ scene, cluster, storeUrl, store },
    start: (args) => scene.start(args, onStore),
    run: (args) => scene.run(args, onStore),
    close: async () => {
      await store.close();
      await scene.close();
    },
  };
}

/** The nodes are small: what a task may take is a limit, and not a need. */
export const smallRequests = { requestedCpus: 0.05 };

/** Writes the driver's file for trials in a namespace, and answers its path. */
export async function writeDriverFile(
  { scene, cluster }: Pick<ClusterScene, 'scene' | 'cluster'>,
  namespace: string,
  change: Partial<KubernetesConfig> = {},
): Promise<string> {
  const config = cluster.config(namespace);
  const pod = { ...config.pod, ...smallRequests };
  const file = path.join(scene.dir, `${namespace}.yaml`);
  await writeFile(file, stringify({ ...config, pod, ...change }));
  return file;
}

export async function verdictsIn(store: Store, sweep: string): Promise<Verdict[]> {
  const found: Verdict[] = [];
  for await (const { verdict } of readVerdicts(store, await readPlan(store, sweep), VerdictSchema)) {
    found.push(verdict);
  }
  return found;
}

/** The record of every generation that was lost. */
export async function failuresIn(store: Store, sweep: string): Promise<FailureRecord[]> {
  const found: FailureRecord[] = [];
  for (const trial of trialsOf(await readPlan(store, sweep))) {
    for await (const { key } of store.list(failuresPrefix(trial.path))) {
      const record = await readJson(store, key, FailureRecordSchema);
      if (record !== null) found.push(record);
    }
  }
  return found;
}

/** Replies of models that the sweep's trials have on record, in whatever generation. */
export async function countReplies(store: Store, sweep: string): Promise<number> {
  let count = 0;
  for await (const { key } of store.list(trialsPrefix(sweep))) if (key.endsWith('-reply.json')) count += 1;
  return count;
}

/** `task model attempt`. */
export const nameOf = ({ trial: { task, model, attempt } }: Pick<Verdict, 'trial'>): string =>
  `${task} ${model} ${attempt}`;

/** Every proof of a verdict, by the sandbox and the moment that it is of. */
export function proofsOf(verdict: Verdict): ReadonlyMap<string, NetworkProof> {
  return new Map(
    verdict.sandboxes.flatMap(({ phase, step, network, networkAtEnd }) => [
      [`${phase} ${step}`, network] as const,
      ...(networkAtEnd === null ? [] : [[`${phase} ${step} at its end`, networkAtEnd] as const]),
    ]),
  );
}

const CalibrationSchema = z.object({ ok: z.boolean(), agree: z.int(), disagree: z.array(z.unknown()) });

/** Expects that all verdicts of a sweep are there and what their known-rate model meant. */
export async function expectCalibrated(at: ClusterScene, sweep: string, planned: number): Promise<void> {
  const { stdout, stderr } = await at.run(['calibrate', sweep, '--json']);
  expect(CalibrationSchema.parse(JSON.parse(stdout)), stderr).toEqual({
    ...{ ok: true, agree: planned, disagree: [] },
  });
}

/** Expects that a namespace holds again what it held before. */
export async function expectOnly(
  cluster: TestCluster,
  namespace: string,
  before: readonly string[],
): Promise<void> {
  const deadline = performance.now() + goneMs;
  let names = await namesIn(cluster, namespace);
  while (!isDeepStrictEqual(names, before) && performance.now() < deadline) {
    await sleep(500);
    names = await namesIn(cluster, namespace);
  }
  expect(names).toEqual(before);
}

/** A trial whose agent is at work. */
export interface Working {
  /** As `nameOf` tells it. */
  readonly trial: string;
  readonly pod: string;
  readonly node: string;
}

/** The trials whose first episode has had so many replies at least and is not over; none where there is no plan yet. */
export async function workingTrials(
  store: Store,
  sweep: string,
  replies: number,
): Promise<readonly Working[]> {
  const plan = await readJson(store, planKey(sweep), PlanSchema);
  if (plan === null) return [];
  const found: Working[] = [];
  for (const { index, task, model, attempt } of trialsOf(plan)) {
    const grading = trialGrading(plan, index, 1);
    const provided = await readPhase({ store }, phases.provision(grading));
    if (provided === null || (await readPhase({ store }, phases.episode(grading, 0))) !== null) continue;
    if ((await store.get(replyKey(grading.prefix, 0, replies - 1))) === null) continue;
    const { name: pod, host: node } = provided.sandbox;
    found.push({ trial: `${task.id} ${model.name} ${attempt}`, pod, node });
  }
  return found;
}
