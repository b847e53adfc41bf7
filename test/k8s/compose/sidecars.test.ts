// The pod of a task of several containers, and what each of them starts.
import { describe, expect, it } from 'vitest';
import { KubernetesConfigSchema } from '../../../k8s/config.ts';
import { portsInTheWay } from '../../../k8s/compose/image-ports.ts';
import { containerOf, mainImage, withServices } from '../../../k8s/compose/sidecars.ts';
import type { SandboxService, SandboxServices } from '../../../sandbox/services/spec.ts';
import { podOf } from '../../../k8s/pod-spec.ts';
import type { SandboxSpec } from '../../../sandbox/port.ts';

const own = [
  ...['--forget', 'KUBERNETES_SERVICE_,KUBERNETES_PORT'],
  ...['--max-files', '655360', '--max-processes', '4096'],
];

const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;
const image = (letter: string) => ({
  reference: `registry:5000/passband/${letter}:1`,
  digest: digest(letter),
});

const spec: SandboxSpec = {
  name: 'trial-agent',
  image: image('a'),
  labels: {},
  ...{ cpus: 2, memoryMiB: 4096, diskMiB: 10_240, pids: 512, lifetimeSec: 3600 },
  env: {},
  workdir: null,
  network: 'deny',
  baseline: true,
};

const sidecar = (name: string, more: Partial<SandboxService> = {}): SandboxService => ({
  name,
  image: image('b'),
  env: {},
  workdir: null,
  user: null,
  ...{ cpus: 1, memoryMiB: 2048, mounts: [], shmMiB: null, ports: [], startsImage: true },
  ...more,
});

const services = (more: Partial<SandboxServices>): SandboxServices => ({
  main: { user: null, mounts: [], shmMiB: null, ports: [] },
  sidecars: [],
  hosts: [{ address: '127.0.0.1', names: ['db', 'main'] }],
  ...more,
});

const pristine = { user: '', workdir: '/', entrypoint: [] };
const config = KubernetesConfigSchema.parse({
  registry: { repository: 'registry:5000/passband' },
  pod: { requestedCpus: 0.5 },
}).pod;

function podWith(given: SandboxServices) {
  const facts = { ...pristine, volumes: [] };
  const pod = podOf({ spec, image: mainImage(facts, given), config, owner: null, userNamespaces: false });
  const images = new Map(
    given.sidecars.map(({ name }) => [name, { ...pristine, user: 'postgres', workdir: '/data' }]),
  );
  const whole = withServices(pod, { spec, services: given, images, config });
  return { pod, whole, containers: whole.spec?.containers ?? [] };
}

describe('a pod with services', () => {
  it('is the pod of its main container, with the sidecars beside it and the names of all in /etc/hosts', () => {
    const { pod, whole, containers } = podWith(services({ sidecars: [sidecar('db')] }));
    expect(whole.metadata).toEqual(pod.metadata);
    expect(whole.spec).toEqual({
      ...pod.spec,
      containers,
      hostAliases: [{ ip: '127.0.0.1', hostnames: ['db', 'main'] }],
    });
    expect(containers).toHaveLength(2);
    expect(containers[0]).toEqual(pod.spec?.containers[0]);
    expect(containers[1]).toMatchObject({
      name: 's0-db',
      image: `registry:5000/passband/b@${digest('b')}`,
      command: ['/opt/passband/bin/supervisor', 'init', '--workdir', '/data', '--user', 'postgres', ...own],
      workingDir: '/',
    });
  });

  it('runs nothing of a sidecar by itself: its supervisor waits to be told', () => {
    const [, container] = podWith(services({ sidecars: [sidecar('db')] })).containers;
    expect(container).not.toHaveProperty('args');
    expect(container).not.toHaveProperty('livenessProbe');
    expect(container).not.toHaveProperty('lifecycle');
    expect(container?.command?.[1]).toBe('init');
    expect(container?.securityContext).toMatchObject({
      runAsUser: 0,
      privileged: false,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('gives main the task’s limits whole, and a sidecar its own, with a small claim on the disk', () => {
    const { containers, pod } = podWith(
      services({ sidecars: [sidecar('db', { cpus: 0.5, memoryMiB: 256 })] }),
    );
    expect(containers[0]?.resources).toEqual(pod.spec?.containers[0]?.resources);
    expect(containers[1]?.resources).toEqual({
      requests: { cpu: '250m', memory: '256Mi', 'ephemeral-storage': '64Mi' },
      limits: { cpu: '500m', memory: '256Mi', 'ephemeral-storage': '10240Mi' },
    });
  });

  it('writes a dollar that means itself twice, so that Kubernetes fills nothing in', () => {
    const db = sidecar('db', { env: { A: '$(HOME) $$ $x' }, workdir: '/$(A)', user: '10001:10001' });
    const [, container] = podWith(services({ sidecars: [db] })).containers;
    expect(container?.env).toEqual([{ name: 'A', value: '$$(HOME) $$$$ $$x' }]);
    expect(container?.command?.slice(2)).toEqual(['--workdir', '/$$(A)', '--user', '10001:10001', ...own]);
  });

  it('shares a volume that begins with what the first image has there, read-only where it is said', () => {
    const given = services({
      main: {
        ...{ user: null, shmMiB: null, ports: [] },
        mounts: [
          { kind: 'folder', path: '/own' },
          { kind: 'volume', volume: 'spool', path: '/var/spool/in', readOnly: false },
          { kind: 'tmpfs', path: '/run/x', sizeMiB: 64 },
        ],
      },
      sidecars: [
        sidecar('feed', {
          shmMiB: 256,
          mounts: [
            { kind: 'volume', volume: 'spool', path: '/out', readOnly: true },
            { kind: 'files', source: 'environment/a', path: '/a' },
          ],
        }),
      ],
    });
    const { whole, containers, pod } = podWith(given);
    expect(containers.map(({ volumeMounts }) => volumeMounts)).toEqual([
      [
        { name: 'shared-0', mountPath: '/var/spool/in' },
        { name: 'main-tmpfs-2', mountPath: '/run/x' },
      ],
      [
        { name: 'shared-0', mountPath: '/out', readOnly: true },
        { name: 's0-feed-shm', mountPath: '/dev/shm' },
      ],
    ]);
    expect(whole.spec?.volumes).toEqual([
      { name: 'shared-0', emptyDir: {} },
      { name: 'main-tmpfs-2', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
      { name: 's0-feed-shm', emptyDir: { medium: 'Memory', sizeLimit: '256Mi' } },
    ]);
    expect(whole.spec?.initContainers).toMatchObject([
      {
        name: 'seed-shared-0',
        image: pod.spec?.containers[0]?.image,
        command: ['/opt/passband/bin/supervisor', 'copy', '/var/spool/in', '/opt/passband/volume'],
        volumeMounts: [{ name: 'shared-0', mountPath: '/opt/passband/volume' }],
      },
    ]);
    // The delta must take them whole: no comparison with the image sees into a volume.
    expect(mainImage({ ...pristine, volumes: ['/var/lib/v'] }, given).volumes).toEqual([
      ...['/var/lib/v', '/var/spool/in', '/run/x'],
    ]);
  });

  it('enters main as the user that the task’s file gives it', () => {
    const given = services({ main: { user: '10001', mounts: [], shmMiB: null, ports: [] } });
    expect(podWith(given).containers[0]?.command).toContain('10001');
  });

  it('names containers within Kubernetes’ grammar, no two alike', () => {
    const given = services({ sidecars: [sidecar('API.v1'), sidecar('api-v1'), sidecar('x'.repeat(80))] });
    const names = given.sidecars.map(({ name }) => containerOf(given, name));
    expect(names).toEqual(['s0-api-v1', 's1-api-v1', `s2-${'x'.repeat(40)}`]);
  });
});

describe('ports that images expose', () => {
  const postgres = { ports: [{ port: 5432, protocol: 'tcp' as const }] };
  const images = new Map([
    ['primary', postgres],
    ['replica', postgres],
  ]);

  it('are in each other’s way where both services start what their images say', () => {
    const both = services({ sidecars: [sidecar('primary'), sidecar('replica')] });
    expect(portsInTheWay(both, images)).toBe('compose: two services listen on port 5432 (primary, replica)');
  });

  it('are not counted under a command of the service’s own, but what the file says is', () => {
    const other = sidecar('replica', { startsImage: false });
    expect(portsInTheWay(services({ sidecars: [sidecar('primary'), other] }), images)).toBeNull();
    const said = { ...other, ports: postgres.ports };
    expect(portsInTheWay(services({ sidecars: [sidecar('primary'), said] }), images)).toContain('5432');
  });
});
