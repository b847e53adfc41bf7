// The scene of a bench: a sweep's workers between faulty services, all on loopback, and its pods on the test cluster.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { readSession } from '../../instruments/known-rate/session.ts';
import { startKnownRateServer } from '../../instruments/known-rate/server.ts';
import type { KnownTask } from '../../instruments/known-rate/known-task.ts';
import { readKnownTasks } from '../../instruments/known-tasks.ts';
import { generationPrefix, replyKey, trialPrefix } from '../../domain/layout.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/port.ts';
import { startTestCluster, type TestCluster } from '../../test/support/cluster.ts';
import { startS3Server } from '../../test/support/s3.ts';
import type { Sampled } from './checks.ts';
import { HttpProxy, type Observe } from './http-proxy.ts';
import { startPlatformProxy } from './platform-proxy.ts';
import { Sweeps } from './sweeps.ts';
import { benchTasks, patientTasks, writeBenchTasks } from './tasks.ts';
import { TemporalServer } from './temporal-server.ts';
import { TrialPods } from './trial-pods.ts';
import { Ways } from './ways.ts';
import { Workers } from './workers.ts';
import { WriteLog } from './writes.ts';

const namespaceName = 'passband-faults';
const models = ['known-rate-0.1', 'known-rate-0.5', 'known-rate-0.9'];
/** Trials of a sweep for each attempt of its models. */
export const trialsPerAttempt = models.length * benchTasks.length;
const concurrency = 7;
const workerCount = 2;
/** A reply takes about a second, so that there is a middle to cut. */
const pace = { latencyMs: 300, tokensPerSecond: 400 };

export type ScenePart = 'model' | 'store' | 'platform';

export interface Scene {
  readonly cluster: TestCluster;
  readonly pods: TrialPods;
  readonly proxies: Readonly<Record<ScenePart, HttpProxy>>;
  readonly temporal: TemporalServer;
  readonly workers: Workers;
  readonly sweeps: Sweeps;
  readonly ways: Ways;
  /** What the store took, as its proxy saw it. */
  readonly writes: WriteLog;
  /** Replies that the models gave. */
  readonly sampled: readonly Sampled[];
}

export interface OpenScene extends Scene {
  readonly namespace: string;
  /** Past the proxy. */
  readonly store: Store;
  readonly s3: { readonly endpoint: string; readonly bucket: string };
  /** With the workers' logs. */
  readonly dir: string;
  readonly tasks: readonly KnownTask[];
  /** Ends everything. The folder stays where `keep` says so. */
  close(options: { readonly keep: boolean }): Promise<void>;
}

export interface SceneOptions {
  readonly seed: number;
  readonly say: (line: string) => void;
}

/** Brings everything up, the cluster too where it is not. What was started before a failure is ended again. */
export async function openScene({ seed, say }: SceneOptions): Promise<OpenScene> {
  const ends: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const end of ends.splice(0).reverse()) await end().catch((error: unknown) => say(String(error)));
  };
  try {
    const scene = await build({ seed, say }, (end) => ends.push(end));
    return {
      ...scene,
      close: async ({ keep }) => {
        await close();
        if (!keep) await rm(scene.dir, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function build(
  { seed, say }: SceneOptions,
  atEnd: (end: () => Promise<unknown>) => unknown,
): Promise<Omit<OpenScene, 'close'>> {
  const dir = await mkdtemp(path.join(tmpdir(), 'passband-faults-'));
  const cluster = await startTestCluster();
  const namespace = await cluster.namespace(namespaceName);
  atEnd(() => namespace.remove());
  const s3 = await startS3Server();
  atEnd(() => s3.stop());
  const urlAt = (endpoint: string): string => `s3://${s3.bucket}/results?endpoint=${endpoint}`;
  const store = await openStore(urlAt(s3.endpoint), process.env);
  atEnd(() => store.close());
  const tasksDir = await writeBenchTasks(path.join(dir, 'tasks'));
  const tasks = await readKnownTasks(tasksDir);
  const ways = new Ways({ seed, tasks, patient: patientTasks });
  const server = await startKnownRateServer({ tasks, models, seed, ...pace, chooseWay: ways.choose });
  atEnd(() => server.close());
  const writes = new WriteLog();
  const sampled: Sampled[] = [];
  const proxies = {
    model: await HttpProxy.start(upstreamOf(server.url), noteSampled(sampled)),
    store: await HttpProxy.start(upstreamOf(s3.endpoint), noteWrites(writes, `/${s3.bucket}/results/`)),
    platform: await startPlatformProxy(cluster.kubeconfig, path.join(dir, 'kubeconfig')),
  };
  for (const proxy of Object.values(proxies)) atEnd(() => proxy.away());
  const temporal = await TemporalServer.start(path.join(dir, 'temporal'), say);
  atEnd(() => temporal.stop());
  const driver = await writeDriverFile(cluster, dir);
  const where = ['--sandbox', 'kubernetes', '--kubernetes', driver, '--temporal', temporal.address];
  const onStore = ['--store', urlAt(proxies.store.url)];
  const sweeps = new Sweeps({
    ...{ temporal: temporal.address, store, writes, models, say },
    modelUrl: () => `${proxies.model.url}/v1`,
    flags: [...where, ...onStore, '--tasks', tasksDir, '--concurrency', String(concurrency)],
  });
  atEnd(() => sweeps.close());
  const temporary = path.join(dir, 'tmp');
  await mkdir(temporary);
  const workers = new Workers({
    ...{ count: workerCount, dir, say, env: { ...process.env, TMPDIR: temporary } },
    args: [...where, ...onStore, '--concurrency', String(concurrency)],
  });
  atEnd(() => workers.stop());
  const pods = new TrialPods(cluster.client, namespace.name, (workflow) => sweeps.trialOf(workflow));
  return {
    ...{ cluster, pods, proxies, temporal, workers, sweeps, ways, writes, sampled },
    ...{ namespace: namespace.name, store, s3, dir, tasks },
  };
}

function upstreamOf(url: string) {
  const { hostname, port } = new URL(url);
  return { protocol: 'http:' as const, host: hostname, port: Number(port) };
}

/** Whole objects that the store has taken, also those whose answer is lost on the way back. */
const noteWrites =
  (writes: WriteLog, prefix: string): Observe =>
  ({ method, path: asked, query }, status) => {
    const isWhole = method === 'PUT' ? !query.has('uploadId') : method === 'POST' && query.has('uploadId');
    const name = decodeURIComponent(asked);
    if (!isWhole || status >= 300 || !name.startsWith(prefix)) return;
    writes.note({ atMs: performance.now(), key: name.slice(prefix.length) });
  };

/** Which call of which episode a reply was given for. */
const noteSampled =
  (sampled: Sampled[]): Observe =>
  ({ headers, body }, status) => {
    const session = readSession(String(headers['x-session-id'] ?? ''));
    if (status !== 200 || typeof session === 'string') return;
    const { generation, ...trial } = session;
    const call = body.toString().split('"role":"assistant"').length - 1;
    const key = replyKey(generationPrefix(trialPrefix(trial), generation), 0, call);
    sampled.push({ atMs: performance.now(), key });
  };

/** Nodes are small, so requests are: what a task may take is a limit. A silent node is given up after a short time. */
async function writeDriverFile(cluster: TestCluster, dir: string): Promise<string> {
  const config = cluster.config(namespaceName);
  const pod = { ...config.pod, requestedCpus: 0.05 };
  const file = path.join(dir, 'kubernetes.yaml');
  const own = { pod, kubeconfig: path.join(dir, 'kubeconfig'), nodeGraceSec: 10 };
  await writeFile(file, stringify({ ...config, ...own }));
  return file;
}
