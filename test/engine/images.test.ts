// Images on a real engine: built, cached, appended, refused with a reason, and brought from this machine.
import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBase, registerBase } from '../../sandbox/engine/base-images.ts';
import { parseBase } from '../../sandbox/images/base-request.ts';
import { createEngineDriver } from '../../sandbox/engine/driver.ts';
import type { Image } from '../../domain/gate.ts';
import type { ImageSource, SandboxDriver } from '../../sandbox/port.ts';
import { sh, specOf, tarOf, type Entry } from '../sandbox/conformance/harness.ts';
import { startTestEngine, type TestEngine } from '../support/engine.ts';
import { ensureDebian } from '../support/engine-harness.ts';

const unique = `${process.pid}-${Date.now()}`;
let engine: TestEngine;
let driver: SandboxDriver;
let folder: string;
let contexts = 0;
const made = new Set<string>();

async function ensure(...[what, signal]: Parameters<SandboxDriver['images']['ensure']>): Promise<Image> {
  const image = await driver.images.ensure(what, signal);
  made.add(image.reference);
  return image;
}

beforeAll(async () => {
  engine = await startTestEngine();
  await ensureDebian(engine.endpoint);
  driver = createEngineDriver(engine.endpoint);
  folder = await mkdtemp(join(tmpdir(), 'passband-images-'));
});

afterAll(async () => {
  const docker = new Docker(engine.endpoint.options);
  for (const reference of made) await docker.getImage(reference).remove({ force: true });
  await driver.close();
  await engine.stop();
  await rm(folder, { recursive: true, force: true });
});

function source(
  dockerfile: string,
  more: Partial<Extract<ImageSource, { kind: 'build' }>> & { files?: Entry[] } = {},
) {
  const { files = [], ...change } = more;
  return {
    kind: 'build' as const,
    digest: `${unique}\n${dockerfile}`,
    context: () => {
      contexts += 1;
      return Promise.resolve(tarOf([{ header: { name: 'Dockerfile' }, content: dockerfile }, ...files]));
    },
    dockerfile: 'Dockerfile',
    offline: false,
    timeoutMs: 120_000,
    ...change,
  };
}

/** Runs a script in a sandbox of the image. */
async function inside(image: { reference: string; digest: string }, script: string): Promise<string> {
  const spec = { ...(await specOf({ image: () => Promise.resolve(image) })), workdir: '/' };
  try {
    return (await sh(await driver.create(spec), script)).out;
  } finally {
    await driver.destroy(spec.name);
  }
}

describe('images', () => {
  it('are built once for a context, several stages and all, and have the toolbox', async () => {
    const build = source(
      'FROM debian:12 AS one\nRUN echo made > /made\nFROM debian:12\nCOPY --from=one /made /made\nCOPY kept /kept\n',
      { files: [{ header: { name: 'kept' }, content: 'k' }] },
    );
    const [image, same] = await Promise.all([ensure(build), ensure(build)]);
    expect(same).toEqual(image);
    expect(image.reference).toMatch(/^localhost\/passband\/task:[0-9a-f]{32}$/);
    expect(image.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(await inside(image, 'cat /made /kept; test -x /opt/passband/bin/supervisor && echo toolbox')).toBe(
      'made\nktoolbox\n',
    );
    const before = contexts;
    const other = createEngineDriver(engine.endpoint);
    expect(await other.images.ensure(build)).toEqual(image);
    expect(contexts).toBe(before);
  });

  it('are appended to what is prebuilt', async () => {
    const image = await ensure({ kind: 'prebuilt', reference: 'debian:12' });
    expect(await inside(image, 'cat /etc/debian_version')).toMatch(/^12/);
  });

  it('fail with the step and the last lines of the log', async () => {
    const failing = ensure(source('FROM debian:12\nRUN echo the reason >&2; exit 3\n'));
    await expect(failing).rejects.toMatchObject({ failureClass: 'ImageMissing' });
    await expect(failing).rejects.toThrow(/the build failed: .*RUN echo the reason[\s\S]*\nthe reason/);
    const copy = ensure(source('FROM debian:12\nCOPY not-there /x\n'));
    await expect(copy).rejects.toThrow(/not-there/);
  });

  it('fail by the name of a base that is not there, with the way to bring it', async () => {
    const missing = ensure(source('ARG V=9\nFROM localhost/no-such-base:${V}\n'));
    await expect(missing).rejects.toMatchObject({ failureClass: 'ImageMissing' });
    await expect(missing).rejects.toThrow(
      /localhost\/no-such-base:9 .*passband images base localhost\/no-such-base:9=/,
    );
    const prebuilt = ensure({ kind: 'prebuilt', reference: 'localhost/no-such-image' });
    await expect(prebuilt).rejects.toThrow(/localhost\/no-such-image .*passband images base/);
  });

  it('fail when their time is up', async () => {
    const slow = ensure(source('FROM debian:12\nRUN sleep 60\n', { timeoutMs: 2_000 }));
    await expect(slow).rejects.toThrow(/longer than its limit of 2 s/);
  });

  it('have a network for RUN, and none where it is asked so, whatever was built before', async () => {
    const devices = 'FROM debian:12\nRUN tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " " > /devices\n';
    const online = await ensure(source(devices));
    expect((await inside(online, 'cat /devices')).trim().split('\n').length).toBeGreaterThan(1);
    const offline = await ensure(source(devices, { offline: true }));
    expect(await inside(offline, 'cat /devices')).toBe('lo\n');
  });

  it('cannot be started where their user is not there, and it is named', async () => {
    const image = await ensure(source('FROM debian:12\nUSER not-there\n'));
    await expect(inside(image, 'true')).rejects.toMatchObject({ failureClass: 'TaskInvalid' });
    await expect(inside(image, 'true')).rejects.toThrow(/cannot start: .*not-there/);
  });

  it('stop being waited for when the caller gives up', async () => {
    const waiting = ensure(source('FROM debian:12\nRUN sleep 3\n'), AbortSignal.timeout(200));
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});

describe('base images', () => {
  const remove = (reference: string) =>
    new Docker(engine.endpoint.options).getImage(reference).remove({ force: true });

  async function root(): Promise<string> {
    const dir = join(folder, 'root');
    await mkdir(join(dir, 'bin'), { recursive: true });
    await writeFile(join(dir, 'bin/marker'), 'from this machine');
    return dir;
  }

  it.each([`passband-test-base:${unique}`, `registry.example/team/base:${unique}`])(
    'come from a folder, under the name that FROM means: %s',
    async (name) => {
      expect(await hasBase(engine.endpoint, name)).toBe(false);
      const reference = await registerBase(engine.endpoint, await parseBase(`${name}=${await root()}`));
      expect(await hasBase(engine.endpoint, name)).toBe(true);
      await ensure(source(`FROM ${name}\nCOPY Dockerfile /x\n`));
      await remove(reference);
    },
  );

  it('come from the tar of a root, gzipped too, and from a saved image', async () => {
    const dir = await root();
    const plain = join(folder, 'root.tar');
    const gzipped = join(folder, 'root.tar.gz');
    await promisify(execFile)('tar', ['-C', dir, '-cf', plain, '.']);
    await promisify(execFile)('tar', ['-C', dir, '-czf', gzipped, '.']);
    const docker = new Docker(engine.endpoint.options);
    for (const [at, path] of [plain, gzipped].entries()) {
      const name = `passband-test-tar${at}:${unique}`;
      const reference = await registerBase(engine.endpoint, await parseBase(`${name}=${path}`));
      const saved = join(folder, `saved${at}.tar`);
      await pipeline(Readable.from(await docker.getImage(reference).get()), createWriteStream(saved));
      await remove(reference);
      const again = await registerBase(engine.endpoint, await parseBase(`${name}=${saved}`));
      await ensure(source(`FROM ${name}\nCOPY Dockerfile /x${at}\n`));
      await remove(again);
    }
  });

  it('are refused where the file is no tar', async () => {
    const path = join(folder, 'none.tar');
    await writeFile(path, 'x'.repeat(4096));
    await expect(registerBase(engine.endpoint, await parseBase(`x:1=${path}`))).rejects.toThrow(/is no tar/);
  });
});
