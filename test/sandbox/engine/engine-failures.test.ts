// What a refused request, a failed build and a failed pull are: the task's, the registry's or the engine's.
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { build } from '../../../sandbox/engine/build.ts';
import { createEngineDriver } from '../../../sandbox/engine/driver.ts';
import { Engine } from '../../../sandbox/engine/engine.ts';
import { engineCall } from '../../../sandbox/engine/engine-errors.ts';
import { EngineImages } from '../../../sandbox/engine/images.ts';
import { pullFailure, pullImage } from '../../../sandbox/engine/pull.ts';
import type { SandboxSpec } from '../../../sandbox/port.ts';
import { scriptedEngine, type EngineAnswer, type ScriptedEngine } from '../../support/scripted-engine.ts';

let engine: ScriptedEngine;
afterEach(async () => {
  await engine.close();
});

const version = { status: 200, body: { Version: '1', Components: [] } };
const image = { status: 200, body: { Id: 'sha256:1', Config: {} } };
const log = (lines: readonly string[], error: string | null): string =>
  [...lines.map((line) => ({ stream: `${line}\n` })), ...(error === null ? [] : [{ error }])]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');

async function building(answer: EngineAnswer, offline = false): Promise<unknown> {
  engine = await scriptedEngine((call) => {
    if (call === 'GET /version') return version;
    if (call === 'POST /build') return answer;
    return /^GET \/images/.test(call) ? image : undefined;
  });
  const context = Readable.from([]);
  const request = { tag: 't', dockerfile: 'Dockerfile', bases: ['debian:12'], offline, timeoutMs: 10_000 };
  return build(new Engine(engine.endpoint), { ...request, context, late: 'ImageMissing' }).then(
    () => 'built',
    (error: unknown) => error,
  );
}
const run = 'building at STEP "RUN make": while running runtime: exit status 1';

describe('a build that fails', () => {
  it.each([
    [['make: *** [all] Error 2'], run],
    [['compiling crun-test.c: OCI runtime test', 'one', 'two', 'failed'], run],
    [[], 'building at STEP "RUN echo \\"OCI runtime\\" no space left on device": exit status 1'],
    [[], "The command '/bin/sh -c echo crun: no' returned a non-zero code: 3"],
    [['E: Unable to locate package nonsuch'], run],
    [['connect to 127.0.0.1 port 8080: Connection refused'], run],
  ])('is the task: %j, %s', async (lines, error) => {
    expect(await building({ status: 200, body: log(lines, error) })).toMatchObject({
      failureClass: 'ImageMissing',
    });
  });

  it.each([
    [[], 'building at STEP "RUN make": error setting rlimit type 7: operation not permitted'],
    [[], 'error running container: from /usr/bin/runc creating container'],
    [['runc create failed: unable to start container process'], run],
    [['OCI runtime error: crun: fork: Resource temporarily unavailable'], run],
    [[], 'write /var/lib/containers/storage/overlay/x: no space left on device'],
    [['tar: ./big: Cannot write: No space left on device'], run],
  ])(
    'is the engine where that could not do its work, and never build-fails: %j, %s',
    async (lines, error) => {
      expect(await building({ status: 200, body: log(lines, error) })).toMatchObject({
        failureClass: 'PlatformUnavailable',
      });
    },
  );

  it('is the engine where its log breaks off', async () => {
    const failure = await building({
      status: 200,
      body: log(['STEP 1/2: FROM debian:12'], null),
      broken: true,
    });
    expect(failure).toMatchObject({ failureClass: 'PlatformUnavailable' });
  });

  const network = [
    "Err:1 http://deb.example trixie InRelease\n  Temporary failure resolving 'deb.example'",
    'Could not connect to deb.example:80 (10.0.0.1), connection timed out',
    'Failed to fetch http://deb.example/x.deb  503  Service Unavailable [IP: 10.0.0.1 80]',
    'urllib3: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution',
    'curl: (22) The requested URL returned error: 502',
    'npm error code ETIMEDOUT',
  ];
  it.each(network)('is tried again where the network had no answer: %s (C35)', async (line) => {
    const answer = { status: 200, body: log([line, 'E: Some index files failed'], run) };
    expect(await building(answer)).toMatchObject({ failureClass: 'ImagePullTransient' });
  });

  it('is the task where it was to build without a network and asks for one', async () => {
    const answer = { status: 200, body: log(network, run) };
    expect(await building(answer, true)).toMatchObject({ failureClass: 'ImageMissing' });
  });
});

describe('a pull that fails', () => {
  it('is the engine where its disk is full or it goes away', async () => {
    expect(pullFailure('x', 'copying layer: no space left on device', null)).toMatchObject({
      failureClass: 'PlatformUnavailable',
    });
    engine = await scriptedEngine((call) => {
      if (call === 'POST /images/create')
        return { status: 200, body: '{"status":"Pulling"}\n', broken: true };
      return call === 'GET /_ping' ? { status: 200, body: 'OK' } : undefined;
    });
    await expect(pullImage(new Engine(engine.endpoint), 'x')).rejects.toMatchObject({
      failureClass: 'PlatformUnavailable',
    });
  });
});

describe('the toolbox', () => {
  it('that cannot be built stops with a line for the operator, and rejects no task', async () => {
    engine = await scriptedEngine((call) => {
      if (call === 'GET /version') return version;
      return call === 'POST /build' ? { status: 200, body: log([], 'manifest unknown') } : undefined;
    });
    const images = new EngineImages(new Engine(engine.endpoint));
    const made = images.ensure({ kind: 'prebuilt', reference: 'task:1' });
    await expect(made).rejects.toMatchObject({ failureClass: 'ConfigInvalid' });
    await expect(made).rejects.toThrow(/toolbox.*debian:12.*passband images base/s);
  });
});

describe('a sandbox that the engine refuses', () => {
  const spec: SandboxSpec = {
    name: 'pb-1-agent',
    image: { reference: 'r', digest: 'sha256:1' },
    labels: {},
    cpus: 4,
    memoryMiB: 64,
    diskMiB: 64,
    pids: 64,
    env: {},
    workdir: null,
    network: 'deny',
    baseline: true,
    lifetimeSec: 60,
  };
  const creating = async (status: number, message: string) => {
    engine = await scriptedEngine((call) => {
      if (/^GET \/images/.test(call)) return image;
      return call === 'POST /containers/create' ? { status, body: { message } } : undefined;
    });
    return createEngineDriver(engine.endpoint).create(spec);
  };

  it('for what the task asks is invalid, in the engine words, and not asked for all day', async () => {
    const message = 'Range of CPUs is from 0.01 to 2.00, as there are only 2 CPUs available';
    await expect(creating(400, message)).rejects.toMatchObject({
      failureClass: 'TaskInvalid',
      message: `container engine, creating container pb-1-agent: ${message}`,
    });
  });

  it('for a runtime that does not work is the engine, whatever the status', async () => {
    await expect(creating(400, 'OCI runtime create failed: no such file')).rejects.toMatchObject({
      failureClass: 'PlatformUnavailable',
    });
    await engine.close();
    await expect(creating(500, 'database is locked')).rejects.toMatchObject({
      failureClass: 'PlatformUnavailable',
    });
  });

  it.each([401, 403])('for who we are is forbidden (HTTP %i)', async (statusCode) => {
    engine = await scriptedEngine(() => undefined);
    const error = Object.assign(new Error('authorization denied by plugin'), { statusCode });
    await expect(engineCall('a call', () => Promise.reject(error))).rejects.toMatchObject({
      failureClass: 'Forbidden',
    });
  });
});
