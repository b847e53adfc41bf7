// Images by a real BuildKit and a real registry: built once, appended, refused with a reason, brought from this machine.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeImages } from '../../cli/image-set.ts';
import type { Image } from '../../domain/gate.ts';
import type { KubernetesConfig } from '../../k8s/config.ts';
import { pushBase } from '../../k8s/images/base-push.ts';
import { BuildKit } from '../../k8s/images/buildkit.ts';
import { KubernetesImages, pinned } from '../../k8s/images/images.ts';
import { Registry } from '../../k8s/images/registry.ts';
import { parseBase } from '../../sandbox/images/base-request.ts';
import type { ImageSource } from '../../sandbox/port.ts';
import { readTaskSet } from '../../tasks/task-set.ts';
import { tarOf, type Entry } from '../sandbox/conformance/harness.ts';
import { startBusyRegistry } from '../support/busy-registry.ts';
import { startTestCluster, type TestCluster } from '../support/cluster.ts';
import { writeTasks } from '../support/small-tasks.ts';

const unique = `${process.pid}-${Date.now()}`;
let cluster: TestCluster;
let config: KubernetesConfig;
let images: KubernetesImages;
let pushed: string[];
let folder: string;

beforeAll(async () => {
  cluster = await startTestCluster();
  config = cluster.config('images');
  pushed = [];
  images = new KubernetesImages(config, process.env, (reference) => pushed.push(reference));
  folder = await mkdtemp(join(tmpdir(), 'passband-images-'));
}, 2_400_000);

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

type Build = Extract<ImageSource, { kind: 'build' }>;

function source(
  dockerfile: string,
  { files = [], ...more }: Partial<Build> & { files?: Entry[] } = {},
): Build {
  return {
    kind: 'build',
    digest: `${unique}\n${dockerfile}`,
    context: () =>
      Promise.resolve(tarOf([{ header: { name: 'Dockerfile' }, content: dockerfile }, ...files])),
    dockerfile: 'Dockerfile',
    offline: false,
    timeoutMs: 120_000,
    ...more,
  };
}

/** Passes where the command, in exec form, succeeds in the image: the step is run anew each time. */
async function runsIn(image: Image, ...argv: string[]): Promise<void> {
  const text = `FROM ${pinned(image)}\nUSER 0\nCOPY nonce /nonce\nRUN ${JSON.stringify(argv)}\n`;
  const nonce = { header: { name: 'nonce' }, content: `${unique}-${Math.random()}` };
  await images.ensure(source(text, { digest: `${nonce.content}\n${text}`, files: [nonce] }));
}

const contextOf = (image: Image) => new Registry(config.registry, process.env).facts(image);

describe('images', () => {
  it('are built once for a context, several stages and all, and have the toolbox', async () => {
    const build = source(
      '# syntax=no-such/frontend:1\nFROM debian:12 AS one\nRUN echo made > /made\nFROM debian:12\nCOPY --from=one /made /made\nCOPY kept /kept\n',
      { files: [{ header: { name: 'kept' }, content: 'k' }] },
    );
    pushed = [];
    const [image, same] = await Promise.all([images.ensure(build), images.ensure(build)]);
    expect(same).toEqual(image);
    expect(image.reference).toMatch(/\/passband\/task:[0-9a-f]{32}$/);
    expect(image.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(pushed.filter((reference) => !reference.includes('/toolbox:'))).toHaveLength(2);
    await runsIn(
      image,
      '/bin/sh',
      '-c',
      'grep -qx made /made && grep -qx k /kept && /opt/passband/bin/supervisor version',
    );
    const again = new KubernetesImages(config, process.env, (reference) => pushed.push(reference));
    pushed = [];
    const context = () => Promise.reject(new Error('the context is asked for again'));
    expect(await again.ensure({ ...build, context })).toEqual(image);
    expect(pushed).toEqual([]);
  });

  it('are had without any BuildKit where the registry has them', async () => {
    const build = source('FROM debian:12\nRUN true\n');
    const image = await images.ensure(build);
    const { namespace, registry, pod, proof, placeSec, nodeGraceSec } = config;
    const without = { namespace, registry, pod, proof, placeSec, nodeGraceSec };
    const other = new KubernetesImages(without, process.env);
    expect(await other.ensure(build)).toEqual(image);
    const missing = other.ensure(source('FROM debian:12\nRUN false\n'));
    await expect(missing).rejects.toMatchObject({ failureClass: 'ConfigInvalid' });
  });

  it('are appended to what is prebuilt, by the digest that its name has', async () => {
    const image = await images.ensure({ kind: 'prebuilt', reference: 'debian:12' });
    expect(await images.ensure({ kind: 'prebuilt', reference: 'docker.io/library/debian:12' })).toEqual(
      image,
    );
    await runsIn(image, '/opt/passband/bin/supervisor', 'version');
  });

  it('may hold nothing at all, and have the toolbox and their own user, directory, ENTRYPOINT and volumes', async () => {
    const image = await images.ensure(
      source(
        'FROM scratch\nCOPY file /file\nUSER 1000:1000\nWORKDIR /work\nENTRYPOINT ["/file", "x"]\nVOLUME /data\n',
        {
          files: [{ header: { name: 'file' }, content: '' }],
        },
      ),
    );
    await runsIn(image, '/opt/passband/bin/supervisor', 'version');
    expect(await contextOf(image)).toEqual({
      ...{ user: '1000:1000', workdir: '/work', entrypoint: ['/file', 'x'], volumes: ['/data'] },
      ...{ command: [], healthcheck: null, ports: [] },
    });
  });

  it('take a stage and values of ARG', async () => {
    const text = 'FROM debian:12 AS one\nARG WHO\nRUN test "$WHO" = me\nFROM one\nRUN false\n';
    await images.ensure(source(text, { target: 'one', args: { WHO: 'me' } }));
  });

  it('of the toolbox hold it alone', async () => {
    const toolbox = await images.toolbox();
    expect(toolbox.reference).toMatch(/\/passband\/toolbox:[0-9a-f]{32}$/);
    await runsIn(toolbox, '/opt/passband/bin/supervisor', 'version');
    await expect(runsIn(toolbox, '/bin/sh', '-c', 'true')).rejects.toMatchObject({
      failureClass: 'ImageMissing',
    });
  });

  it('fail with the step and the last lines of the log', async () => {
    const failing = images.ensure(source('FROM debian:12\nRUN echo the reason >&2; exit 3\n'));
    await expect(failing).rejects.toMatchObject({ failureClass: 'ImageMissing' });
    await expect(failing).rejects.toThrow(/the build failed: [\s\S]*echo the reason[\s\S]*\nthe reason/);
    await expect(images.ensure(source('FROM debian:12\nCOPY not-there /x\n'))).rejects.toThrow(/not-there/);
  });

  it('fail by the name of a base that is not there, with the way to bring it', async () => {
    const missing = images.ensure(source('ARG V=9\nFROM no-such-base:${V}\n'));
    await expect(missing).rejects.toMatchObject({ failureClass: 'ImageMissing' });
    await expect(missing).rejects.toThrow(
      /library\/no-such-base:9 .*passband images base \S*no-such-base:9=/,
    );
    const prebuilt = images.ensure({ kind: 'prebuilt', reference: 'no-such-image' });
    await expect(prebuilt).rejects.toMatchObject({ failureClass: 'ImageMissing' });
    await expect(prebuilt).rejects.toThrow(/no-such-image:latest is not in registry .*passband images base/);
  });

  it('fail when their time is up', async () => {
    const slow = images.ensure(source('FROM debian:12\nRUN sleep 60\n', { timeoutMs: 3_000 }));
    await expect(slow).rejects.toThrow(/longer than its limit of 3 s/);
  });

  it('have no network for RUN where it is asked so, whatever was built before', async () => {
    const devices = 'FROM debian:12\nRUN test "$(tail -n +3 /proc/net/dev | wc -l)" OP 1\n';
    await images.ensure(source(devices.replace('OP', '-gt')));
    await images.ensure(source(devices.replace('OP', '-eq'), { offline: true }));
    const install = source('FROM debian:12\nRUN apt-get update -qq && apt-get install -y hello\n', {
      offline: true,
    });
    await expect(images.ensure(install)).rejects.toMatchObject({ failureClass: 'ImageMissing' });
  });

  it('stop being waited for when the caller gives up, and are ended when the driver closes', async () => {
    const own = new KubernetesImages(config, process.env);
    const slow = source('FROM debian:12\nRUN sleep 50\n');
    const building = own.ensure(slow);
    building.catch(() => undefined);
    await expect(own.ensure(slow, AbortSignal.timeout(200))).rejects.toMatchObject({ name: 'TimeoutError' });
    own.close();
    await expect(building).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('a busy registry', () => {
  it('C35: is asked again, and what it answers then is taken', async () => {
    const busy = await startBusyRegistry(cluster.registry, cluster.host);
    try {
      const mirrors = { 'docker.io': `http://${busy.address}` };
      const builder = new KubernetesImages(
        { ...config, registry: { ...config.registry, mirrors } },
        process.env,
      );
      await builder.toolbox();
      const asked = builder.ensure.bind(builder, { kind: 'prebuilt', reference: 'debian:12' });
      busy.busyFor(1);
      await expect(asked()).rejects.toMatchObject({
        failureClass: 'ImagePullTransient',
        retryAfterMs: 7_000,
      });
      const dir = await writeTasks(join(folder, 'busy'), {
        one: { 'environment/Dockerfile': null, 'task.toml': '[environment]\ndocker_image = "debian:12"\n' },
      });
      busy.busyFor(3);
      const waits: number[] = [];
      const { tasks } = await readTaskSet(dir);
      const made = await makeImages(tasks, builder, {
        ...{ offline: false, atOnce: 1, say: () => undefined },
        wait: (ms) => Promise.resolve(waits.push(ms)),
        signal: new AbortController().signal,
      });
      expect(made.failed).toEqual([]);
      expect(made.images).toMatchObject([await asked()]);
      expect(waits).toHaveLength(3);
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(7_000);
    } finally {
      await busy.close();
    }
  });

  it('C35: is no failure of the build that is pushed to it', async () => {
    const busy = await startBusyRegistry(cluster.registry, cluster.host);
    try {
      const dir = join(folder, 'pushed');
      await mkdir(dir);
      await writeFile(join(dir, 'Dockerfile'), `FROM scratch\nLABEL unique="${unique}"\nCOPY Dockerfile /\n`);
      const limits = { offline: true, timeoutMs: 60_000, late: 'ImageMissing' } as const;
      const request = {
        name: `${busy.address}/busy:${unique}`,
        folder: dir,
        dockerfile: 'Dockerfile',
        ...limits,
      };
      const buildkit = new BuildKit(config, process.env);
      busy.busyFor(10_000);
      await expect(buildkit.build(request)).rejects.toMatchObject({ failureClass: 'ImagePullTransient' });
      busy.busyFor(0);
      expect(await buildkit.build(request)).toMatch(/^sha256:/);
    } finally {
      await busy.close();
    }
  });
});

describe('a BuildKit that does not answer', () => {
  it('is the platform’s failure', async () => {
    const buildkit = { ...config.buildkit, address: 'tcp://127.0.0.1:9' };
    const away = new KubernetesImages({ ...config, buildkit }, process.env);
    await expect(away.ensure(source('FROM debian:12\nRUN echo away\n'))).rejects.toMatchObject({
      failureClass: 'PlatformUnavailable',
    });
  });
});

describe('base images', () => {
  const push = async (name: string, from: string) =>
    pushBase(await parseBase(`${name}=${from}`), { config, env: process.env, say: () => undefined });

  it('are pushed from a folder where FROM finds them', async () => {
    const root = join(folder, 'root');
    await mkdir(join(root, 'etc'), { recursive: true });
    await writeFile(join(root, 'etc/base-release'), unique);
    const name = `passband-test/root:${unique}`;
    expect(await push(name, root)).toMatch(new RegExp(`^docker\\.io/${name}@sha256:`));
    const text = `FROM ${name} AS base\nFROM debian:12\nCOPY --from=base /etc/base-release /r\nRUN grep -qx ${unique} /r\n`;
    await images.ensure(source(text));
  });

  it('are pushed from what docker save wrote, configuration and all', async () => {
    const layer = await buffer(tarOf([{ header: { name: 'from-layer' }, content: unique }]));
    const diff = `sha256:${createHash('sha256').update(layer).digest('hex')}`;
    const written = {
      ...{ architecture: process.arch === 'x64' ? 'amd64' : process.arch, os: 'linux' },
      config: { User: '7', WorkingDir: '/w', Entrypoint: ['/from-layer'], Volumes: { '/v': {} } },
      rootfs: { type: 'layers', diff_ids: [diff] },
    };
    const manifest = [{ Config: 'config.json', RepoTags: ['x:1'], Layers: ['one/layer.tar'] }];
    const archive = tarOf([
      { header: { name: 'manifest.json' }, content: JSON.stringify(manifest) },
      { header: { name: 'config.json' }, content: JSON.stringify(written) },
      { header: { name: 'one/layer.tar' }, content: layer },
    ]);
    await writeFile(join(folder, 'saved.tar'), archive);
    const name = `passband-test/saved:${unique}`;
    await push(name, join(folder, 'saved.tar'));
    const image = await images.ensure({ kind: 'prebuilt', reference: name });
    expect(await contextOf(image)).toEqual({
      ...{ user: '7', workdir: '/w', entrypoint: ['/from-layer'], volumes: ['/v'] },
      ...{ command: [], healthcheck: null, ports: [] },
    });
    await runsIn(image, '/opt/passband/bin/supervisor', 'version');
  });
});
