import { describe, expect, it } from 'vitest';
import { containerOf, keptFacts, labels } from '../../../sandbox/engine/container.ts';
import { specDigest } from '../../../sandbox/spec-digest.ts';
import { stateOf } from '../../../sandbox/engine/container-state.ts';
import { supervisorFaultStatus } from '../../../sandbox/supervised/supervisor.ts';
import type { SandboxSpec } from '../../../sandbox/port.ts';

const spec: SandboxSpec = {
  name: 'pb-0123456789ab-agent',
  image: { reference: 'localhost/passband/task:1', digest: 'sha256:1' },
  labels: { sweep: 'demo' },
  cpus: 1.5,
  memoryMiB: 2048,
  diskMiB: 10_240,
  pids: 512,
  env: { A: '1', B: '2' },
  workdir: null,
  network: 'deny',
  baseline: true,
  lifetimeSec: 3_600,
};
const image = { user: 'app:extra', workdir: '/app', entrypoint: ['/start'] };

describe('the container of a spec', () => {
  it('has the limits, no network, no swap, no new privileges and few capabilities', () => {
    const { HostConfig: host, ...container } = containerOf(spec, image, false);
    expect(host).toMatchObject({
      NetworkMode: 'none',
      Memory: 2 ** 31,
      MemorySwap: 2 ** 31,
      NanoCpus: 1_500_000_000,
      PidsLimit: 512,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      RestartPolicy: { Name: 'no' },
    });
    expect(host?.CapAdd).not.toEqual(expect.arrayContaining(['SYS_ADMIN']));
    expect(host?.CapAdd).toHaveLength(10);
    expect(host?.Ulimits?.map(({ Name }) => Name)).toEqual(['nofile', 'nproc']);
    expect(host?.StorageOpt).toBeUndefined();
    expect(host?.Privileged ?? false).toBe(false);
    expect(container).toMatchObject({ name: spec.name, Image: 'sha256:1', User: '0:0' });
  });

  it('has the supervisor as PID 1, whatever the image starts, and tells it the image user and directory', () => {
    const container = containerOf(spec, image, true);
    expect(container.Entrypoint).toEqual(['/opt/passband/bin/supervisor']);
    const bounds = ['--max-files', '655360', '--max-processes', '4096'];
    const user = ['--user', 'app:extra'];
    expect(container.Cmd).toEqual(['init', '--workdir', '/app', ...user, ...bounds, '--baseline']);
    expect(container.HostConfig?.StorageOpt).toEqual({ size: '10240M' });
    const plain = containerOf({ ...spec, workdir: '/w', baseline: false }, { ...image, user: '' }, true);
    expect(plain.Cmd).toEqual(['init', '--workdir', '/w', ...bounds]);
  });

  it('leaves the network to the engine only where the spec says so', () => {
    expect(containerOf({ ...spec, network: 'as-declared' }, image, false).HostConfig).not.toHaveProperty(
      'NetworkMode',
    );
  });

  it('is another one with other services, in whatever order their parts were written', () => {
    const services = (names: readonly string[]) => ({
      main: { user: null, mounts: [], shmMiB: null, ports: [] },
      sidecars: [],
      hosts: [{ address: '127.0.0.1', names }],
    });
    const { main, sidecars, hosts } = services(['db']);
    expect(specDigest({ ...spec, services: { hosts, sidecars, main } })).toBe(
      specDigest({ ...spec, services: services(['db']) }),
    );
    const others = [specDigest(spec), specDigest({ ...spec, services: services(['web']) })];
    expect(others).not.toContain(specDigest({ ...spec, services: services(['db']) }));
  });

  it('keeps what another worker must know, and no variable in its own environment', () => {
    const container = containerOf(spec, image, false);
    expect(container.Env).toBeUndefined();
    expect(keptFacts(container.Labels)).toEqual({
      env: spec.env,
      workdir: '/app',
      network: 'deny',
      diskMiB: 10_240,
      baseline: true,
      labels: ['sweep'],
    });
    expect(container.Labels?.[labels.spec]).toBe(specDigest(spec));
  });

  it('that another version made without saying so has no baseline, and is listed all the same', () => {
    const kept = { env: {}, workdir: '/', network: 'deny', diskMiB: 1, labels: ['sweep'] };
    const facts = keptFacts({ [labels.facts]: JSON.stringify(kept) });
    expect(facts).toEqual({ ...kept, baseline: false });
  });

  it('is the same for the same spec, and another one for any change of it (C43)', () => {
    expect(specDigest({ ...spec, env: { B: '2', A: '1' } })).toBe(specDigest(spec));
    // Workers whose clocks differ ask for the same sandbox.
    expect(specDigest({ ...spec, lifetimeSec: 1 })).toBe(specDigest(spec));
    const changes: Partial<SandboxSpec>[] = [
      { memoryMiB: 1 },
      { cpus: 1 },
      { diskMiB: 1 },
      { pids: 1 },
      { env: {} },
      { workdir: '/w' },
      { network: 'as-declared' },
      { baseline: false },
      { labels: {} },
      { image: { ...spec.image, digest: 'sha256:2' } },
    ];
    const digests = changes.map((change) => specDigest({ ...spec, ...change }));
    expect(new Set([...digests, specDigest(spec)]).size).toBe(changes.length + 1);
  });
});

describe('the state of a container', () => {
  const running = { Status: 'running', Running: true, OOMKilled: false, ExitCode: 0, StartedAt: 'then' };
  const state = (change: Partial<typeof running>, SizeRw: number | null = null) =>
    stateOf(
      { Id: '1', Name: 'n', Image: 'i', SizeRw, State: { ...running, ...change }, Config: {} },
      { startedAt: 'then', diskMiB: 1 },
    );
  const ended = (ExitCode: number, more = {}) =>
    state({ Running: false, Status: 'exited', ExitCode, ...more });

  it('is alive while it runs as it did', () => {
    expect(state({})).toEqual({ kind: 'alive' });
    expect(state({ StartedAt: 'later' })).toMatchObject({ kind: 'restarted' });
  });

  it('is the end of its own processes where they took its memory, its disk or PID 1 (C38, C40)', () => {
    expect(ended(137, { OOMKilled: true })).toMatchObject({ cause: 'self', why: 'oom' });
    expect(state({}, 2 * 1024 ** 2)).toMatchObject({ cause: 'self', why: 'disk' });
    expect(ended(2)).toMatchObject({ cause: 'self', why: 'exited' });
    expect(ended(2, { OOMKilled: true })).toMatchObject({ cause: 'self', why: 'oom' });
  });

  it('is the end by the platform where it was stopped from outside, or its machine went away', () => {
    expect(ended(137)).toMatchObject({ cause: 'platform', why: 'exited' });
    expect(ended(143)).toMatchObject({ cause: 'platform', why: 'exited' });
    expect(ended(0, { Status: 'created' })).toMatchObject({ cause: 'platform', why: 'host-lost' });
  });

  it('is no doing of the agent where PID 1 ended for a fault of its own, and says so', () => {
    for (const OOMKilled of [false, true]) {
      const state = ended(supervisorFaultStatus, { OOMKilled });
      expect(state).toMatchObject({ cause: 'platform', why: 'exited' });
      expect(state).toMatchObject({ reason: expect.stringContaining('fault of its own') as string });
    }
  });

  it.each([
    [71, 'self', 'exited'],
    [73, 'self', 'disk'],
    [75, 'platform', 'evicted'],
  ])('is what PID 1 says of the bounds that it keeps: %i', (status, cause, why) => {
    for (const OOMKilled of [false, true]) expect(ended(status, { OOMKilled })).toMatchObject({ cause, why });
  });

  it.each([0, 1, 78, 125, 126, 127, 128, 129, 139, 255])(
    'is never the agent doing where PID 1 ended with %i: an engine or a machine that died leaves that (C38)',
    (status) => {
      expect(ended(status)).toMatchObject({ cause: 'platform', why: 'exited' });
      // A child that ran out of memory before has no part in it.
      expect(ended(status, { OOMKilled: true })).toMatchObject({ cause: 'platform', why: 'exited' });
    },
  );
});
