// Tasks of several containers graded as an operator grades them: services in one pod, closed, fresh for every verifier.
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Verdict } from '../../domain/verdict.ts';
import { startKnownRateServer, type KnownRateServer } from '../../instruments/known-rate/server.ts';
import { readKnownTasks } from '../../instruments/known-tasks.ts';
import { startTestCluster, type TestCluster, type TestNamespace } from '../support/cluster.ts';
import { namesIn } from '../support/cluster-names.ts';
import {
  expectCalibrated,
  expectOnly,
  nameOf,
  openClusterScene,
  proofsOf,
  verdictsIn,
  writeDriverFile,
  type ClusterScene,
} from '../support/cluster-sweep.ts';
import { expectCode, root, type Ended } from '../support/passband.ts';
import { writeTasks } from '../support/small-tasks.ts';

const namespaceName = 'passband-compose-sweep';
const models = ['known-rate-0.5', 'known-rate-1'];
const attempts = 2;
const planned = 2 * models.length * attempts;
const gradeTimeoutMs = 900_000;

const compose = (...lines: string[]): string =>
  ['services:', ...lines.map((line) => `  ${line}`), ''].join('\n');
const main = 'main: {build: .}';

/** Solved by what a sidecar keeps of it: no delta of the agent's own machine holds that. */
const stateful = {
  'environment/docker-compose.yaml': compose(
    'main: {build: ., depends_on: {board: {condition: service_healthy}}}',
    'board: {build: ./board, restart: always}',
  ),
  'environment/board/Dockerfile': [
    'FROM busybox:1',
    'RUN mkdir -p /www/cgi-bin && echo nothing > /www/kept',
    'COPY --chmod=755 put /www/cgi-bin/put',
    'HEALTHCHECK --interval=2s CMD ["/bin/wget", "-qO-", "http://127.0.0.1/kept"]',
    'CMD ["/bin/httpd", "-f", "-h", "/www"]',
    '',
  ].join('\n'),
  'environment/board/put':
    '#!/bin/sh\ncat > /www/kept\nprintf "Content-Type: text/plain\\r\\n\\r\\nkept\\n"\n',
  'instruction.md': 'POST the word hello to http://board/cgi-bin/put.\n',
  'solution/solve.sh': [
    '#!/bin/bash',
    'exec 3<>/dev/tcp/board/80',
    "printf 'POST /cgi-bin/put HTTP/1.0\\r\\nContent-Length: 5\\r\\n\\r\\nhello' >&3",
    'cat <&3',
    '',
  ].join('\n'),
  'tests/test.sh': [
    '#!/bin/bash',
    'echo 0 > /logs/verifier/reward.txt',
    'exec 3<>/dev/tcp/board/80',
    "printf 'GET /kept HTTP/1.0\\r\\n\\r\\n' >&3",
    'grep -qx hello <&3 && echo 1 > /logs/verifier/reward.txt',
    '',
  ].join('\n'),
};

/** What a sweep finds out of services only where it makes their images, or starts them. */
const broken = {
  // Neither names a port: their images do.
  clash: {
    'environment/docker-compose.yaml': compose(main, 'one: {build: ./web}', 'two: {build: ./web}'),
    'environment/web/Dockerfile': 'FROM busybox:1\nEXPOSE 8080\nCMD ["/bin/httpd", "-f", "-p", "8080"]\n',
  },
  ill: {
    'environment/docker-compose.yaml': compose(
      'main: {build: ., depends_on: {web: {condition: service_healthy}}}',
      'web: {image: "busybox:1", healthcheck: {test: ["CMD", "/bin/false"], interval: 1s, retries: 2}}',
    ),
  },
};

let cluster: TestCluster;
let at: ClusterScene;
let namespace: TestNamespace;
let server: KnownRateServer;
let tasks: string;

beforeAll(async () => {
  cluster = await startTestCluster();
  namespace = await cluster.namespace(namespaceName);
  at = await openClusterScene(cluster);
  tasks = await writeTasks(path.join(at.scene.dir, 'tasks'), { ...broken, stateful });
  await cp(path.join(root, 'examples/compose-tasks'), tasks, { recursive: true });
  const known = { tasks: await readKnownTasks(tasks), models, seed: 7 };
  server = await startKnownRateServer({ ...known, host: cluster.host });
});

afterAll(async () => {
  await server.close();
  await at.close();
  await namespace.remove();
});

const SummarySchema = z.object({
  planned: z.int(),
  counted: z.int(),
  rejected: z.array(z.object({ task: z.string(), reason: z.string(), message: z.string() })),
});

describe('a sweep of tasks of several containers', () => {
  let ended: Ended;
  let verdicts: readonly Verdict[];
  let before: readonly string[];

  beforeAll(async () => {
    before = await namesIn(cluster, namespaceName);
    const file = await writeDriverFile(at, namespaceName);
    const flags = ['--seed', '7', '--name', 'compose', '--attempts', String(attempts), '--concurrency', '2'];
    ended = await at.run([
      ...[
        'sweep',
        'start',
        '--tasks',
        tasks,
        ...models.flatMap((model) => ['--model', `${model}=${server.url}`]),
      ],
      ...[...flags, '--sandbox', 'kubernetes', '--kubernetes', file, '--json'],
    ]);
    verdicts = await verdictsIn(at.store, 'compose');
  }, gradeTimeoutMs);

  test('grades what one pod can run, every verdict as its model meant it', async () => {
    expectCode(ended, 0);
    expect(SummarySchema.parse(JSON.parse(ended.stdout))).toMatchObject({ planned, counted: planned });
    await expectCalibrated(at, 'compose', planned);
    const passed = verdicts.filter(({ result }) => result === 'passed').map(({ trial }) => trial.task);
    expect(new Set(passed)).toEqual(new Set(['passband/word-desk', 'stateful']));
  });

  test('has a fresh pod verify, with services of its own, but where what a service keeps is the solution', () => {
    const modes = new Map(verdicts.map(({ trial, environmentMode }) => [trial.task, environmentMode]));
    expect(modes).toEqual(
      new Map([
        ['passband/word-desk', 'separate'],
        ['stateful', 'shared'],
      ]),
    );
  });

  test('names the task whose images listen on one port, and the one whose service is not healthy', () => {
    const { rejected } = SummarySchema.parse(JSON.parse(ended.stdout));
    expect(new Map(rejected.map(({ task, reason }) => [task, reason]))).toEqual(
      new Map([
        ['clash', 'unsupported'],
        ['ill', 'oracle-fails'],
      ]),
    );
    const said = new Map(rejected.map(({ task, message }) => [task, message]));
    expect(said.get('clash')).toBe('compose: two services listen on port 8080 (one, two)');
  });

  test('C51: proves every sandbox closed, that of the agent and that of the verifier', () => {
    for (const verdict of verdicts) {
      const proofs = proofsOf(verdict);
      const places = ['agent main', 'agent main at its end'];
      if (verdict.environmentMode === 'separate') places.push('verifier main');
      expect([...proofs.keys()], nameOf(verdict)).toEqual(expect.arrayContaining(places));
      for (const [place, { outcome, probes }] of proofs) {
        expect(outcome, `${nameOf(verdict)}, ${place}`).toBe('denied');
        expect(probes.length).toBeGreaterThan(5);
      }
    }
  });

  test('leaves nothing in the namespace of trials', async () => {
    await expectOnly(cluster, namespaceName, before);
  });
});

test('a task that one pod cannot give is rejected by name, with file and line', async () => {
  const dir = await writeTasks(path.join(at.scene.dir, 'refused'), {
    privileged: {
      'environment/docker-compose.yaml': compose(main, 'vm: {image: "busybox:1", privileged: true}'),
    },
    ports: {
      'environment/docker-compose.yaml': compose(
        main,
        ...['a', 'b'].map((name) => `${name}: {image: "busybox:1", expose: [9000]}`),
      ),
    },
  });
  const ended = await at.run(['check', dir, '--sandbox', 'kubernetes']);
  expectCode(ended, 3);
  expect(ended.stdout).toMatch(
    /rejected: privileged: unsupported: privileged\/environment\/docker-compose\.yaml:3 .*compose: privileged/,
  );
  expect(ended.stdout).toMatch(
    /rejected: ports: unsupported: .*compose: two services listen on port 9000 \(a, b\)/,
  );
});
