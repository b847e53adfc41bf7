// A real vLLM in a pod of helm/vllm, graded through the whole product: both scaffolds, streamed, ids stored, the server killed once.
// Its model answers noise, so nothing is solved: what is looked at is what was counted, and every id on the way.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { trialGrading } from '../../activities/subject.ts';
import { breakCauses, ReplyRecordSchema, type ReplyRecord } from '../../domain/episode.ts';
import { replyKey } from '../../domain/layout.ts';
import type { FailureRecord, Verdict } from '../../domain/verdict.ts';
import { readJson } from '../../store/objects.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/port.ts';
import { readPlan, trialsOf } from '../../store/verdicts.ts';
import { failuresIn, nameOf, smallRequests, verdictsIn, workingTrials } from '../support/cluster-sweep.ts';
import { startTestCluster, type TestCluster } from '../support/cluster.ts';
import { helm } from '../support/helm.ts';
import { installChart, type InstalledChart } from '../support/installed-chart.ts';
import { CountsSchema, until } from '../support/passband.ts';
import { copyExamples } from '../support/small-tasks.ts';
import { installVllm, tinyValues, type Installed } from './local-server.ts';

const release = 'vllm-test';
const models = 'vllm-test-models';
const pod = 'tiny-0';
const sweep = `noise-${randomUUID().slice(0, 8)}`;
const tasks = ['order-totals', 'run-length'];
const served = ['tiny', 'tiny-adapted'];
const scaffolds = ['terminus-2', 'bash'];
const attempts = 2;
const planned = tasks.length * served.length * scaffolds.length * attempts;
/** Python compiles its modules at the first start, on a machine that the cluster shares. */
const loadTimeoutMs = 900_000;
const gradeTimeoutMs = 2_400_000;

let cluster: TestCluster;
let chart: InstalledChart;
let store: Store;
let folder: string;

beforeAll(async () => {
  const installed = await installVllm();
  cluster = await startTestCluster();
  folder = await mkdtemp(path.join(tmpdir(), 'passband-vllm-test-'));
  const { registry } = cluster.config(`${release}-trials`);
  const address = cluster.buildkit.startsWith('tcp://') ? cluster.buildkit : `tcp://${cluster.host}:1234`;
  chart = await installChart(cluster, release, {
    kubernetes: { registry, buildkit: { address }, pod: smallRequests },
  });
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: cluster.s3.access,
    AWS_SECRET_ACCESS_KEY: cluster.s3.secret,
  });
  store = await openStore(chart.storeUrl, process.env);
  await serve(installed);
}, loadTimeoutMs + gradeTimeoutMs);

afterAll(async () => {
  await cluster.kubectl('delete', 'namespace', models, '--ignore-not-found', '--wait');
  await chart.remove();
  await store.close();
  await rm(folder, { recursive: true });
}, loadTimeoutMs);

/** Installs helm/vllm, with the folders of this machine in its pod. */
async function serve({ python, models: weights }: Installed): Promise<void> {
  await cluster.kubectl('delete', 'namespace', models, '--ignore-not-found', '--wait');
  await cluster.kubectl('create', 'namespace', models);
  const hostPath = (name: string, from: string) => ({ name, hostPath: { path: from, type: 'Directory' } });
  const mount = (name: string, mountPath: string) => ({ name, mountPath, readOnly: true });
  await helm(['install', 'tiny', 'helm/vllm', '--namespace', models, '--kubeconfig', cluster.kubeconfig], {
    ...(await tinyValues()),
    networkPolicy: {
      denyEgress: true,
      workers: { namespaceLabels: { 'kubernetes.io/metadata.name': release } },
    },
    volumes: [hostPath('python', python), hostPath('models', weights)],
    volumeMounts: [mount('python', '/opt/vllm'), mount('models', '/models')],
  });
  await ready();
}

const ready = (): Promise<string> =>
  cluster.kubectl(
    ...['rollout', 'status', 'statefulset/tiny', '--namespace', models],
    `--timeout=${loadTimeoutMs / 1_000}s`,
  );

/** What kubectl prints of one field. */
const told = (kind: string, name: string, field: string): Promise<string> =>
  cluster.kubectl('get', kind, name, '--namespace', models, `--output=jsonpath={${field}}`);

/** Puts tasks and sweep file into the worker's pod, and starts the sweep there: nothing else reaches the model. */
async function grade(): Promise<string> {
  const dir = path.join(folder, 'sweep');
  await copyExamples(path.join(dir, 'tasks'), tasks);
  // By its number: the cluster's DNS knows no Services.
  const endpoint = `http://${await told('service', 'tiny', '.spec.clusterIP')}:8000/v1`;
  const request = {
    name: sweep,
    tasks: 'tasks',
    // Charged by its tokens: how fast they come is a matter of what else this machine does.
    clock: 'nominal',
    models: served.map((name) => ({
      ...{ name, endpoint, nominal_tokens_per_second: 50 },
      sampling: { temperature: 1, seed: 7, maxTokens: 64 },
    })),
    scaffolds: scaffolds.map((name) => ({ name, options: { max_turns: 4 } })),
    ...{ attempts, concurrency: 4, sandbox: 'kubernetes', kubernetes: '/etc/passband/kubernetes.yaml' },
  };
  await writeFile(path.join(dir, 'sweep.yaml'), stringify(request));
  const names = [
    '--selector=app.kubernetes.io/component=worker',
    '--output=jsonpath={.items[0].metadata.name}',
  ];
  const worker = await cluster.kubectl('get', 'pods', '--namespace', release, ...names);
  await cluster.kubectl('cp', dir, `${release}/${worker}:/tmp/sweep`);
  return await cluster.kubectl(
    ...['exec', '--namespace', release, worker, '--', 'node', '/app/cli/main.ts'],
    ...['sweep', 'start', '/tmp/sweep/sweep.yaml', '--json'],
    ...['--temporal', cluster.temporal, '--namespace', release],
  );
}

describe('a sweep with a real vLLM in a pod, which is killed in the middle', () => {
  let counts: ReturnType<typeof CountsSchema.parse>;
  let verdicts: readonly Verdict[];
  let failures: readonly FailureRecord[];
  beforeAll(async () => {
    const grading = grade();
    const killed = until(
      'a trial in the middle of its episode',
      async () => (await workingTrials(store, sweep, 2)).length > 0,
      gradeTimeoutMs,
    ).then(() => cluster.kubectl('delete', 'pod', pod, '--namespace', models, '--grace-period=0', '--force'));
    const [said] = await Promise.all([grading, killed]);
    counts = CountsSchema.parse(JSON.parse(said));
    verdicts = await verdictsIn(store, sweep);
    failures = await failuresIn(store, sweep);
  }, gradeTimeoutMs);

  test('counts every trial once, and none as anything but what its agent did', () => {
    expect(counts).toMatchObject({ planned, counted: planned, failures: {} });
    const names = verdicts.map((verdict) => `${nameOf(verdict)} ${verdict.trial.scaffold}`);
    expect(new Set(names).size).toBe(planned);
    for (const { ending, result } of verdicts) {
      expect(['turn-limit', 'no-valid-call', 'out-of-output']).toContain(ending);
      expect(result).toBe('failed');
    }
  });

  test('puts whatever was lost down to the model that was away', () => {
    for (const { failureClass } of failures)
      expect(['ModelUnavailable', 'StreamBroken']).toContain(failureClass);
  });

  test('has every id of every turn, with a logprob each, and prompts that extend the last or say where they do not', async () => {
    const plan = await readPlan(store, sweep);
    for (const { index, path: trial } of trialsOf(plan)) {
      const verdict = verdicts.find(({ trial: { task, model, scaffold, attempt } }) => {
        const { identity } = trialGrading(plan, index, 1);
        return (
          task === identity.task &&
          model === identity.model &&
          scaffold === identity.scaffold &&
          attempt === trial.attempt
        );
      });
      const { prefix } = trialGrading(plan, index, verdict?.generation ?? 1);
      const replies: ReplyRecord[] = [];
      for (let call = 0; call < (verdict?.turns ?? 0); call += 1) {
        const record = await readJson(store, replyKey(prefix, 0, call), ReplyRecordSchema);
        replies.push(record ?? expect.fail(`${prefix}: no reply ${call}`));
      }
      expectExact(prefix, replies);
    }
  });

  test('says in each verdict what served it', () => {
    for (const { trial, steps } of verdicts) {
      const serving = steps[0]?.episode?.serving;
      expect(serving).toMatchObject({
        contextTokens: 16_384,
        parent: trial.model === 'tiny' ? null : 'tiny',
      });
      expect(serving?.serverVersion).toMatch(/^\d+\.\d+/);
    }
  });
});

function expectExact(where: string, replies: readonly ReplyRecord[]): void {
  let known: readonly number[] = [];
  for (const { call, promptIds, completionIds, logprobs, usage } of replies) {
    const what = `${where}, call ${call}`;
    if (promptIds === null || completionIds === null) expect.fail(`${what}: no ids`);
    const { extends: extending, prefixLength, suffix, breakIndex, breakCause } = promptIds;
    expect(extending ? prefixLength : breakIndex, what).toBe(extending ? known.length : prefixLength);
    if (extending) expect(breakCause, what).toBeNull();
    else expect(breakCauses, what).toContain(breakCause);
    expect(prefixLength, what).toBeLessThanOrEqual(known.length);
    const prompt = [...known.slice(0, prefixLength), ...suffix];
    expect(prompt, what).toHaveLength(usage.promptTokens);
    expect(completionIds, what).toHaveLength(usage.completionTokens);
    expect(logprobs, what).toHaveLength(completionIds.length);
    expect(usage.estimated, what).toBe(false);
    known = [...prompt, ...completionIds];
  }
}

test('nobody but a worker reaches the model', async () => {
  await ready();
  const address = await told('pod', pod, '.status.podIP');
  const asked = fetch(`http://${address}:8000/health`, { signal: AbortSignal.timeout(5_000) });
  await expect(asked).rejects.toThrow();
});
