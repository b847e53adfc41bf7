// The chart on the test cluster: the worker's image built from the tree as it is, a bucket, a Temporal namespace, and the release.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { z } from 'zod';
import type { TestCluster } from './cluster.ts';
import { helm, type Values } from './helm.ts';

const run = promisify(execFile);
const retention = '1 day';

export interface InstalledChart {
  /** Also its namespace's name, the bucket's, and Temporal's namespace: a worker of the chart takes no other test's work. */
  readonly release: string;
  /** The namespace of trials. */
  readonly trials: string;
  readonly storeUrl: string;
  readonly values: Values;
  /** What helm said. */
  readonly notes: string;
  log(...flags: string[]): Promise<string>;
  /** What kubectl says, also where it fails. */
  said(...args: string[]): Promise<string>;
  uninstall(): Promise<void>;
  /** Uninstalls, and removes the namespaces with what a test put into them. */
  remove(): Promise<void>;
}

/** Installs the chart in namespaces of its own, after removing what an earlier run left there. `more` goes over the values. */
export async function installChart(
  cluster: TestCluster,
  release: string,
  more: Values = {},
): Promise<InstalledChart> {
  const trials = `${release}-trials`;
  const storeUrl = `s3://${release}/grading?endpoint=${cluster.s3.endpoint}`;
  const flags = ['--namespace', release, '--kubeconfig', cluster.kubeconfig];
  const uninstall = async (): Promise<void> => {
    await helm(['uninstall', release, ...flags, '--ignore-not-found', '--wait', '--timeout', '120s']);
  };
  const remove = async (): Promise<void> => {
    await uninstall();
    await cluster.kubectl('delete', 'namespace', release, trials, '--ignore-not-found', '--wait');
  };
  await remove();
  await cluster.kubectl('create', 'namespace', release);
  await cluster.kubectl(
    ...['create', 'secret', 'generic', 's3', '--namespace', release],
    ...[`--from-literal=AWS_ACCESS_KEY_ID=${cluster.s3.access}`],
    ...[`--from-literal=AWS_SECRET_ACCESS_KEY=${cluster.s3.secret}`],
  );
  const [image] = await Promise.all([
    workerImage(cluster, release),
    makeBucket(cluster, release),
    makeTemporalNamespace(cluster, release),
  ]);
  const values = { ...valuesOf(cluster, { release, trials, storeUrl }), image, ...more };
  const notes = await helm(['install', release, 'helm/passband', ...flags], values);
  const said = (...args: string[]): Promise<string> =>
    cluster.kubectl(...args).catch((error: unknown) => {
      const { stdout, stderr } = z.object({ stdout: z.string(), stderr: z.string() }).parse(error);
      return `${stdout}${stderr}`;
    });
  const log = (...more: string[]): Promise<string> =>
    said('logs', '--namespace', release, `deployment/${release}`, ...more);
  return { release, trials, storeUrl, values, notes, log, said, uninstall, remove };
}

function valuesOf(
  cluster: TestCluster,
  { release, trials, storeUrl }: Pick<InstalledChart, 'release' | 'trials' | 'storeUrl'>,
): Values {
  const { registry, buildkit, host } = cluster;
  return {
    temporal: { address: cluster.temporal, namespace: release },
    store: { url: storeUrl, credentialsSecret: 's3' },
    worker: {
      drainSec: 1,
      resources: { requests: { cpu: '10m', memory: '128Mi' }, limits: { memory: '1Gi' } },
    },
    trials: { namespace: trials, quota: { pods: '20' } },
    kubernetes: {
      registry: { repository: `${registry}/passband`, insecure: true, mirrors: { 'docker.io': registry } },
      // As pods reach it.
      buildkit: { address: buildkit.startsWith('tcp://') ? buildkit : `tcp://${host}:1234` },
    },
  };
}

/** The image of the tree as it is, by digest. */
async function workerImage(cluster: TestCluster, tag: string): Promise<Values> {
  const repository = `${cluster.registry}/passband/worker`;
  const { buildctl } = cluster.programs;
  const { stdout } = await run('sh', [
    ...['bin/worker-image.sh', `${repository}:${tag}`, '--addr', cluster.buildkit, '--base', 'debian:12'],
    ...['--buildctl', buildctl, '--with', buildctl, '--insecure'],
  ]);
  return { repository, tag, digest: stdout.trim().split('@')[1] ?? '' };
}

/** Made where it is not there. */
export async function makeBucket({ s3 }: TestCluster, bucket: string): Promise<void> {
  const client = new S3Client({
    ...{ endpoint: s3.endpoint, region: 'us-east-1', forcePathStyle: true },
    credentials: { accessKeyId: s3.access, secretAccessKey: s3.secret },
  });
  await client.send(new CreateBucketCommand({ Bucket: bucket })).catch((error: unknown) => {
    if (!/already/i.test(String(error))) throw error;
  });
  client.destroy();
}

async function makeTemporalNamespace({ temporal }: TestCluster, namespace: string): Promise<void> {
  const connection = await Connection.connect({ address: temporal });
  const request = { namespace, workflowExecutionRetentionPeriod: msToTs(retention) };
  await connection.workflowService.registerNamespace(request).catch((error: unknown) => {
    if (!/already exists/i.test(String(error))) throw error;
  });
  await connection.close();
}
