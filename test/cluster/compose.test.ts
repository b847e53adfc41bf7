// Services in one real pod: nothing of them runs by itself, they start in order, reach each other by name, and end alone.
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Image } from '../../domain/gate.ts';
import { SandboxGone, type Sandbox, type SandboxDriver, type SandboxSpec } from '../../sandbox/port.ts';
import { layMounts } from '../../sandbox/services/lay-mounts.ts';
import { servicePort } from '../../sandbox/services/service-port.ts';
import type { SandboxService, SandboxServices } from '../../sandbox/services/spec.ts';
import { startServices, type StartingService } from '../../sandbox/services/start-services.ts';
import { tarOf } from '../sandbox/conformance/harness.ts';
import { ownCluster } from '../support/cluster.ts';
import { clusterHarness, type ClusterHarness } from '../support/cluster-harness.ts';
import { buildImage } from '../support/engine-harness.ts';

const busybox = (...words: string[]): string[] => ['/bin/busybox', ...words];
const shell = (script: string): string[] => busybox('sh', '-c', script);
const supervisor = '/opt/passband/bin/supervisor';

let harness: ClusterHarness;
let driver: SandboxDriver;
let image: Image;

beforeAll(async () => {
  harness = await clusterHarness('passband-compose');
  driver = harness.otherDriver;
  image = await harness.image('busybox');
});

afterAll(() => harness.close());

const specOf = (name: string, services: SandboxServices): SandboxSpec => ({
  ...{ name, image, labels: {}, env: {}, workdir: null, network: 'deny', baseline: true, lifetimeSec: 600 },
  ...{ cpus: 0.5, memoryMiB: 256, diskMiB: 128, pids: 64, services },
});

const sidecar = (name: string, more: Partial<SandboxService> = {}): SandboxService => ({
  ...{ name, image, env: {}, workdir: null, user: null, cpus: 0.25, memoryMiB: 64, mounts: [], shmMiB: null },
  ...{ ports: [], startsImage: false },
  ...more,
});

const servicesOf = (
  sidecars: readonly SandboxService[],
  mounts: SandboxServices['main']['mounts'] = [],
): SandboxServices => ({
  main: { user: null, shmMiB: null, ports: [], mounts },
  sidecars,
  hosts: [{ address: '127.0.0.1', names: ['api', 'main', 'seed'] }],
});

function serviceIn(sandbox: Sandbox, name: string): Sandbox {
  const found = sandbox.services.get(name);
  if (found === undefined) throw new Error(`the sandbox has no service ${name}`);
  return found;
}

const containersOf = (sandbox: Sandbox): ReadonlyMap<string, Sandbox> =>
  new Map([['main', sandbox], ...sandbox.services]);

const tarWith = (name: string, text: string): Readable =>
  tarOf([{ header: { name, mode: 0o644 }, content: text }]);

const service = (name: string, argv: string[], more: Partial<StartingService> = {}): StartingService => ({
  ...{ name, argv, health: null, dependsOn: [] },
  ...more,
});
const { signal } = new AbortController();

async function outputOf(sandbox: Sandbox, id: string, script: string): Promise<string> {
  const { stdout } = await sandbox.run({ id, argv: shell(script), timeoutMs: 20_000 });
  return Buffer.from(stdout).toString();
}

it('services of one pod do nothing until they are told to, start in order, and are reached by name', async () => {
  const mounts = [
    { kind: 'files', source: 'environment/index.html', path: '/www/index.html' },
    { kind: 'folder', path: '/data' },
  ] as const;
  const env = { WORD: 'a $(HOME) $$' };
  const scratch = { kind: 'tmpfs', path: '/scratch', sizeMiB: 8 } as const;
  const services = servicesOf([sidecar('api', { mounts, env }), sidecar('seed')], [scratch]);
  const main = await driver.create(specOf('together', services));
  const api = serviceIn(main, 'api');
  expect([...main.services.values()].map(({ identity }) => identity.name)).toEqual([
    ...['together/api', 'together/seed'],
  ]);

  const before = await outputOf(api, 'before', '/bin/busybox ps -o args');
  expect(before.split('\n').filter((line) => line.includes('httpd'))).toEqual([]);

  await layMounts(api, mounts, () => ({
    isFolder: false,
    tar: (name) => tarWith(name, 'it is ready\n'),
  }));
  const health = { intervalSec: 5, timeoutSec: 5, startPeriodSec: 0, retries: 10 };
  const probe = shell('/bin/busybox test -f /seeded && /bin/busybox wget -qO- http://127.0.0.1:8080/');
  const starting = [
    service('main', shell('echo begun > /begun; exec /bin/busybox sleep 1000'), {
      dependsOn: [{ service: 'api', condition: 'healthy' }],
    }),
    service('api', shell('echo yes > /seeded; exec /bin/busybox httpd -f -p 8080 -h /www'), {
      health: { ...health, argv: probe },
      dependsOn: [{ service: 'seed', condition: 'completed' }],
    }),
    service('seed', shell('/bin/busybox sleep 1')),
  ];
  await startServices(starting, servicePort(containersOf(main), 1), signal);
  // Asked again by another worker, as after a cut, it finds all there and starts nothing twice.
  const again = await harness.driver.open(main.identity);
  await startServices(starting, servicePort(containersOf(again), 2), signal);

  expect(await outputOf(again, 'ask', '/bin/busybox wget -qO- http://api:8080/')).toBe('it is ready\n');
  expect(
    await outputOf(
      main,
      'begun',
      '/bin/busybox cat /begun; /bin/busybox grep -c " /scratch tmpfs " /proc/mounts',
    ),
  ).toBe('begun\n1\n');
  expect(await outputOf(api, 'env', 'echo "$WORD"; /bin/busybox ls -d /data')).toBe('a $(HOME) $$\n/data\n');
  const servers = await outputOf(serviceIn(again, 'api'), 'after', '/bin/busybox ps -o args');
  expect(servers.split('\n').filter((line) => line.startsWith('/bin/busybox httpd'))).toHaveLength(1);

  // The processes of the agent's container are its own: those of services go on.
  await main.endProcesses();
  expect(await outputOf(main, 'ask-again', '/bin/busybox wget -qO- http://api:8080/')).toBe('it is ready\n');
  await driver.destroy('together');
});

it('a service that ends badly is named, and what waits for it is not started', async () => {
  const main = await driver.create(specOf('apart', servicesOf([sidecar('seed')])));
  const starting = [
    service('main', shell('echo begun > /begun'), {
      dependsOn: [{ service: 'seed', condition: 'completed' }],
    }),
    service('seed', shell('exit 3')),
  ];
  await expect(startServices(starting, servicePort(containersOf(main), 1), signal)).rejects.toThrow(
    'service seed ended with exit status 3',
  );
  expect(await outputOf(main, 'begun', '/bin/busybox ls /begun || echo no')).toBe('no\n');
  await driver.destroy('apart');
});

it('a shared volume begins with what the first image has there, and a service is started again as it says', async () => {
  const text = [
    `FROM busybox:1`,
    'RUN mkdir /box && echo first > /box/first && chown 7:8 /box/first && chmod 0750 /box',
    'CMD ["/bin/serve"]',
    'EXPOSE 9000',
    'HEALTHCHECK --interval=3s CMD ["/bin/ready"]',
  ].join('\n');
  const seeded = await buildImage(driver, 'compose-seeded', [
    { header: { name: 'Dockerfile' }, content: text },
  ]);
  const box = (path: string) => ({ kind: 'volume', volume: 'box', path, readOnly: false }) as const;
  const filler = sidecar('seed', { image: seeded, mounts: [box('/box')], startsImage: true });
  const api = sidecar('api', { mounts: [box('/mine')] });
  const main = await driver.create(specOf('shared', servicesOf([filler, api])));
  const seed = serviceIn(main, 'seed');
  expect(seed.image).toMatchObject({ command: ['/bin/serve'], healthcheck: { argv: ['/bin/ready'] } });
  const list = '/bin/busybox stat -c "%a %u %g %n" /mine /mine/first';
  expect(await outputOf(serviceIn(main, 'api'), 'list', list)).toBe('750 0 0 /mine\n644 7 8 /mine/first\n');

  // Fails twice, and is then what it is to be.
  const flaky = '[ -e /two ] && exec sleep 600; [ -e /one ] && touch /two; touch /one; exit 1';
  await seed.start({ id: 'service', argv: [supervisor, 'again', 'on-failure', '/bin/sh', '-c', flaky] });
  await expect
    .poll(() => outputOf(seed, `ps-${Date.now()}`, 'ps -o args'), { timeout: 20_000 })
    .toContain('\nsleep 600');
  await driver.destroy('shared');

  const twice = servicesOf([filler, { ...filler, name: 'other' }]);
  expect(await driver.clash(twice)).toBe('compose: two services listen on port 9000 (seed, other)');
  expect(await driver.clash(servicesOf([filler, api]))).toBeNull();
});

it.runIf(ownCluster)(
  'a service whose container has ended is gone by itself: its sandbox goes on',
  async () => {
    const main = await driver.create(specOf('ended', servicesOf([sidecar('api')])));
    const api = serviceIn(main, 'api');
    const { node, id } = await placeOf('ended', 's0-api');
    await harness.cluster.node(node).killContainer(id);
    await expect(api.run({ id: 'late', argv: shell('true'), timeoutMs: 5_000 })).rejects.toBeInstanceOf(
      SandboxGone,
    );
    expect((await api.state()).kind).toBe('gone');
    expect(await main.state()).toEqual({ kind: 'alive' });
    expect(await outputOf(main, 'still', 'echo here')).toBe('here\n');
    // Its pod is not ready any more, for longer than this worker lets a node be silent: that is no such silence.
    await expect.poll(() => readyOf('ended'), { timeout: 30_000 }).toBe('False');
    await sleep(2_500);
    const again = await harness.withConfig({ nodeGraceSec: 1 }).open(main.identity);
    expect(await again.state()).toEqual({ kind: 'alive' });
    expect(again.services.size).toBe(0);
    expect(await outputOf(again, 'again', 'echo here')).toBe('here\n');
    await driver.destroy('ended');
  },
);

async function placeOf(pod: string, container: string): Promise<{ node: string; id: string }> {
  const at = (path: string) =>
    harness.cluster.kubectl(
      'get',
      'pod',
      pod,
      '--namespace',
      'passband-compose',
      `--output=jsonpath=${path}`,
    );
  const node = await at('{.spec.nodeName}');
  return { node, id: await at(`{.status.containerStatuses[?(@.name=="${container}")].containerID}`) };
}

const readyOf = (pod: string): Promise<string> =>
  harness.cluster.kubectl(
    ...['get', 'pod', pod, '--namespace', 'passband-compose'],
    '--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}',
  );
