// The product on a cluster as a person runs it: doctor, a sweep with a worker of its own, and Ctrl-C in the middle of one.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { ownCluster, startTestCluster, type TestCluster, type TestNamespace } from '../support/cluster.ts';
import { processesRunning } from '../support/left-processes.ts';
import { expectCode, expectRefusal, openScene, reach, until, type Scene } from '../support/passband.ts';
import { writeTasks } from '../support/small-tasks.ts';
import { verdictsOf } from '../support/store-files.ts';

const attempts = 2;

let cluster: TestCluster;
let namespace: TestNamespace;
let scene: Scene;
let file: string;
beforeAll(async () => {
  cluster = await startTestCluster();
  namespace = await cluster.namespace('pb-commands');
});
afterAll(async () => {
  await namespace.remove();
});
beforeEach(async () => {
  scene = await openScene();
  file = await configFile('kubernetes.yaml', namespace.name);
});
afterEach(async () => {
  await scene.close();
});

async function configFile(name: string, inNamespace: string): Promise<string> {
  const target = path.join(scene.dir, name);
  await writeFile(target, stringify(cluster.config(inNamespace)));
  return target;
}

const NamesSchema = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

/** Pods and what owns them, in the namespace of trials. */
async function leftInNamespace(): Promise<string[]> {
  const listed = await Promise.all(
    ['pods', 'configmaps', 'secrets'].map(async (kind) => {
      const json = await cluster.kubectl('-n', namespace.name, 'get', kind, '-o', 'json');
      return NamesSchema.parse(JSON.parse(json)).items.map(({ metadata }) => `${kind}/${metadata.name}`);
    }),
  );
  // Every namespace has it.
  return listed.flat().filter((name) => name !== 'configmaps/kube-root-ca.crt');
}

const FindingsSchema = z.object({
  findings: z.array(
    z.object({ part: z.string(), state: z.string(), what: z.string(), mend: z.string().nullable() }),
  ),
});

const doctor = ['doctor', '--sandbox', 'kubernetes', '--json'];

async function findingsOf(code: number, config: string) {
  const ended = await scene.run([...doctor, '--kubernetes', config]);
  expectCode(ended, code);
  return FindingsSchema.parse(JSON.parse(ended.stdout)).findings;
}

describe('doctor', () => {
  test('finds the cluster, our rights, its nodes, the registry and BuildKit', async () => {
    const findings = await findingsOf(0, file);
    expect(findings.filter(({ state }) => state === 'lacks')).toEqual([]);
    const of = (part: string) => findings.find((finding) => finding.part === part)?.what;
    expect(of('cluster')).toMatch(/^Kubernetes v1\.\d+\.\d+ at https:/);
    expect(of('permissions')).toContain(namespace.name);
    expect(of('nodes')).toMatch(/^2 of 2 can take trials: \S+ with \d+ cpus/);
    expect(of('registry')).toContain(cluster.registry);
    expect(of('buildkit')).toContain(cluster.buildkit);
    expect(findings.map(({ part }) => part)).not.toContain('engine');
  });

  test('names the namespace that is not there', async () => {
    const findings = await findingsOf(69, await configFile('nowhere.yaml', 'pb-nowhere'));
    expect(findings.filter(({ state }) => state === 'lacks')).toMatchObject([
      { part: 'namespace', what: expect.stringMatching(/pb-nowhere.*not found/) as string },
    ]);
  });

  test('says of each part that does not answer how to mend it, and looks at the others', async () => {
    const away = path.join(scene.dir, 'away.yaml');
    const config = cluster.config(namespace.name);
    await writeFile(
      away,
      stringify({
        ...config,
        registry: { ...config.registry, repository: '127.0.0.1:1/passband' },
        buildkit: { ...config.buildkit, address: 'tcp://127.0.0.1:1' },
      }),
    );
    const lacking = (await findingsOf(69, away)).filter(({ state }) => state === 'lacks');
    expect(lacking.map(({ part }) => part)).toEqual(['registry', 'buildkit']);
    for (const { mend } of lacking) expect(mend).not.toBeNull();
  });

  test('--canary says what pods see of this cluster, and leaves none', async () => {
    const ended = await scene.run([...doctor, '--kubernetes', file, '--canary']);
    expectCode(ended, 0);
    const { findings } = FindingsSchema.parse(JSON.parse(ended.stdout));
    const of = (part: string) => findings.find((finding) => finding.part === part)?.what;
    expect(of('canary')).toMatch(/let out: API server, .*another pod/);
    expect(of('policy')).toMatch(/^a sandbox reaches none of \d+ targets \(denied\)/);
    expect(of('out of memory')).toMatch(/^ends the (process alone|whole container).*memoryEnds/);
    expect(of('files')).toMatch(/^a sandbox with our default of disk is ended when it has made 655360/);
    expect(of('user namespaces')).toMatch(/root in a sandbox/);
    const nodes = /^(\d+) of/.exec(of('nodes') ?? '')?.[1];
    expect(/\(([^()]+)\)$/.exec(of('policy') ?? '')?.[1]?.split(', ')).toHaveLength(Number(nodes));
    // The project's own kubelets are given podPidsLimit 1024.
    if (ownCluster) expect(of('pids limit')).toMatch(/^a pod begins no more than about \d{3,4} processes/);
    expect(await leftInNamespace()).toEqual([]);
  });

  test('says that no file names a cluster', async () => {
    const ended = await scene.run(doctor);
    expectCode(ended, 69);
    expect(ended.stdout).toContain('--kubernetes FILE or PASSBAND_KUBERNETES');
  });
});

describe('a sweep on a cluster', () => {
  const command = (tasks: string, name: string): string[] => [
    ...['sweep', 'start', '--tasks', tasks, '--model', 'known-rate-1', '--attempts', String(attempts)],
    ...['--sandbox', 'kubernetes', '--concurrency', '2', '--name', name, '--json'],
  ];
  const SummarySchema = z.object({ planned: z.int(), counted: z.int(), coverage: z.number() });

  test('without a file of the cluster is refused before anything is written', async () => {
    const tasks = await writeTasks(path.join(scene.dir, 'tasks'), { hello: {} });
    expectRefusal(await scene.run(command(tasks, 'nofile')), 78, /no file says which cluster/);
  });

  test('is graded by a worker of its own, every verdict with its proof, and leaves nothing there', async () => {
    const tasks = await writeTasks(path.join(scene.dir, 'tasks'), { hello: {} });
    const ended = await scene.run([...command(tasks, 'whole'), '--kubernetes', file]);
    expectCode(ended, 0);
    expect(SummarySchema.parse(JSON.parse(ended.stdout))).toEqual({
      planned: attempts,
      counted: attempts,
      coverage: 1,
    });
    const verdicts = await verdictsOf(scene.store, 'whole');
    expect(verdicts.map(({ result }) => result)).toEqual(['passed', 'passed']);
    for (const { sandboxes } of verdicts) {
      expect(sandboxes.map(({ network }) => network.outcome)).toEqual(['denied', 'denied']);
      for (const { network } of sandboxes) {
        const denied = network.probes.filter(({ outcome }) => outcome === 'denied');
        expect(denied.map(({ target }) => target)).toEqual(
          expect.arrayContaining(['API server', 'another pod']),
        );
      }
    }
    expect(await leftInNamespace()).toEqual([]);
    await scene.expectNothingLeft();
  });

  test('that is interrupted while an image is built ends the build, and goes on with it later', async () => {
    // A build that no other run has cached, and whose process is found by its own number.
    const building = `sleep 9.${Date.now()}`;
    const tasks = await writeTasks(path.join(scene.dir, 'tasks'), {
      built: { 'environment/Dockerfile': `FROM debian:12\nWORKDIR /work\nRUN ${building}\n` },
    });
    const start = [...command(tasks, 'built'), '--kubernetes', file];
    const running = scene.start(start);
    const isBuilding = async (): Promise<boolean> => (await processesRunning(building)).length > 0;
    await reach(running, 'the build', isBuilding);
    running.interrupt();
    expectCode(await running.ended, 130);
    await until('the end of the build’s own process', async () => !(await isBuilding()), 15_000);
    await scene.expectNothingLeft();
    expectCode(await scene.run(start), 0);
    expect(await leftInNamespace()).toEqual([]);
  });

  test('that is interrupted leaves no pod, and the same command goes on', async () => {
    const tasks = await writeTasks(path.join(scene.dir, 'tasks'), {
      slow: { 'solution/solve.sh': '#!/bin/bash\nsleep 4\necho hello > /work/hello.txt\n' },
    });
    const env = { PASSBAND_KUBERNETES: file };
    const running = scene.start(command(tasks, 'stopped'), { env });
    const trialPods = async (): Promise<boolean> =>
      (await leftInNamespace()).some((name) => name.startsWith('pods/') && name.includes('agent'));
    await reach(running, 'a pod of a trial', trialPods);
    running.interrupt();
    const ended = await running.ended;
    expectCode(ended, 130);
    expect(ended.stderr).toContain(
      'interrupted: nothing is left running; the same command goes on with sweep stopped',
    );
    expect(await leftInNamespace()).toEqual([]);
    const again = await scene.run(command(tasks, 'stopped'), { env });
    expectCode(again, 0);
    expect(SummarySchema.parse(JSON.parse(again.stdout))).toMatchObject({ counted: attempts, coverage: 1 });
    expect(await leftInNamespace()).toEqual([]);
    await scene.expectNothingLeft();
  });
});
