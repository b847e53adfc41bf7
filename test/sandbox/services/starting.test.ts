// What each service starts: the file's words over its image's, as an engine puts them together.
import { describe, expect, it } from 'vitest';
import { sandboxServices } from '../../../sandbox/services/spec.ts';
import { defaultLimits } from '../../../domain/task.ts';
import { startingServices, type StartedImage } from '../../../sandbox/services/starting.ts';
import { servicePort } from '../../../sandbox/services/service-port.ts';
import type { MainService, Service, ServiceHealthcheck } from '../../../domain/services.ts';
import type { Command, CommandResult } from '../../../sandbox/port.ts';

const plain: MainService = {
  ...{ entrypoint: null, command: null, user: null, healthcheck: null, dependsOn: [], mounts: [] },
  ...{ restart: { policy: 'no' }, shmMiB: null, ports: [] },
};
const service = (more: Partial<Service>): Service => ({
  ...plain,
  ...{
    name: 'db',
    image: { kind: 'prebuilt', reference: 'db:1' },
    env: {},
    workdir: null,
    cpus: null,
    memoryMiB: null,
  },
  ...more,
});
const asked: ServiceHealthcheck = {
  ...{
    argv: ['ready'],
    intervalSec: 2,
    timeoutSec: null,
    startPeriodSec: null,
    startIntervalSec: null,
    retries: null,
  },
};
const image: StartedImage = { entrypoint: ['/entry'], command: ['serve'], healthcheck: null };
const supervisor = '/opt/passband/bin/supervisor';

const started = (main: Partial<MainService>, sidecar: Partial<Service>, of: StartedImage = image) => {
  const services = { main: { ...plain, ...main }, sidecars: [service(sidecar)], hosts: [] };
  const [first, second] = startingServices(services, new Map([['main', of], ['db', of]])); // prettier-ignore
  return { main: first, db: second };
};

it('a spec has the sidecars’ own limits, or those that a task has by default', () => {
  const made = { reference: 'r/db:1', digest: 'sha256:1' };
  const of = (more: Partial<Service>) => ({ main: plain, sidecars: [service(more)], hosts: [] });
  const [own] = sandboxServices(of({ cpus: 0.5, command: ['x'] }), new Map([['db', made]])).sidecars;
  expect(own).toMatchObject({ image: made, cpus: 0.5, memoryMiB: 2048, startsImage: false });
  const [other] = sandboxServices(of({ memoryMiB: 64 }), new Map([['db', made]])).sidecars;
  expect(other).toMatchObject({ cpus: defaultLimits.cpus, memoryMiB: 64, startsImage: true });
  expect(() => sandboxServices(of({}), new Map())).toThrow('no image of service db');
});

describe('a sidecar starts', () => {
  it.each<[string, Partial<Service>, readonly string[]]>([
    ['what its image says', {}, ['/entry', 'serve']],
    ['its own command under the image’s entrypoint', { command: ['a', 'b'] }, ['/entry', 'a', 'b']],
    ['an entrypoint of its own without the image’s command', { entrypoint: ['/mine'] }, ['/mine']],
    ['both its own', { entrypoint: ['/mine'], command: ['a'] }, ['/mine', 'a']],
    ['a command alone where its entrypoint is taken away', { entrypoint: [], command: ['a'] }, ['a']],
    [
      'again whenever it ends',
      { restart: { policy: 'always' } },
      [supervisor, 'again', 'always', '/entry', 'serve'],
    ],
    [
      'again where it failed, so many times',
      { restart: { policy: 'on-failure', retries: 3 } },
      [supervisor, 'again', 'on-failure:3', '/entry', 'serve'],
    ],
  ])('%s', (_, own, argv) => {
    expect(started({}, own).db?.argv).toEqual(argv);
  });
});

describe('main starts', () => {
  it.each<[string, Partial<MainService>, readonly string[], readonly string[]]>([
    ['nothing, in an image without an entrypoint', {}, [], []],
    ['its image’s entrypoint, which then waits', {}, ['/entry'], ['/entry', supervisor, 'idle']],
    ['a command of its own', { command: ['/run'] }, ['/entry'], ['/entry', '/run']],
    [
      'an entrypoint of its own, which then waits',
      { entrypoint: ['/mine'] },
      ['/entry'],
      ['/mine', supervisor, 'idle'],
    ],
  ])('%s', (_, own, entrypoint, argv) => {
    expect(started(own, {}, { ...image, entrypoint }).main?.argv).toEqual(argv);
  });
});

describe('health', () => {
  it('is asked as the file says, then the image, then as an engine does', () => {
    const ofImage = { ...asked, argv: ['of-image'], timeoutSec: 7, retries: 9 };
    const { db } = started({}, { healthcheck: { ...asked, argv: null } }, { ...image, healthcheck: ofImage });
    expect(db?.health).toEqual({
      ...{ argv: ['of-image'], intervalSec: 2, timeoutSec: 7, startPeriodSec: 0, retries: 9 },
    });
  });

  it('of an image is asked of a sidecar, and of main only where the file says so', () => {
    const { main, db } = started({}, {}, { ...image, healthcheck: asked });
    expect([main?.health, db?.health?.argv]).toEqual([null, ['ready']]);
    expect(started({}, { healthcheck: 'none' }, { ...image, healthcheck: asked }).db?.health).toBeNull();
  });
});

it('jobs have ids of their own, so that a service is started once and a later attempt looks anew', async () => {
  const ids: string[] = [];
  const answer: CommandResult = {
    ...{ exitCode: 0, signal: null, timedOut: false, stdout: new Uint8Array(), stderr: Buffer.from('well') },
    ...{ stdoutOmitted: 0, stderrOmitted: 0, wallMs: 1 },
  };
  const container = {
    start: ({ id }: Omit<Command, 'stdin' | 'timeoutMs'>) => Promise.resolve(void ids.push(id)),
    run: ({ id }: Command) => {
      ids.push(id);
      return Promise.resolve(answer);
    },
  };
  const port = servicePort(new Map([['db', container]]), 2);
  const { signal } = new AbortController();
  const health = { argv: ['x'], intervalSec: 1, timeoutSec: 1, startPeriodSec: 0, retries: 1 };
  await port.start('db', ['x']);
  expect(await port.ended('db', ['x'], signal)).toBe(0);
  expect(await port.probe('db', health, { tries: 4, signal })).toEqual({
    healthy: true,
    said: 'exit status 0 well ',
  });
  expect(ids).toEqual(['service', 'service', 'health-2-4']);
  expect(() => port.start('ghost', [])).toThrow('no service ghost');
});
