// The client as a child: its arguments, its end when nobody waits, and a program that is not there.
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KubernetesConfigSchema } from '../../../k8s/config.ts';
import { argumentsOf, BuildKit, type BuildKitRequest } from '../../../k8s/images/buildkit.ts';

const request: BuildKitRequest = {
  name: 'registry:5000/p/base:1',
  folder: '/context',
  dockerfile: 'docker/Dockerfile',
  offline: false,
  timeoutMs: 30_000,
  late: 'ImageMissing',
};

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'passband-test-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** BuildKit with a script in the place of its client. */
async function withClient(script: string, env: NodeJS.ProcessEnv = process.env): Promise<BuildKit> {
  const program = join(dir, 'buildctl');
  await writeFile(program, `#!/bin/sh\n${script}\n`);
  await chmod(program, 0o755);
  const registry = { repository: 'registry:5000/p' };
  const buildkit = { address: 'tcp://buildkit:1234', buildctl: program };
  return new BuildKit(KubernetesConfigSchema.parse({ registry, buildkit }), env);
}

describe('the client’s arguments', () => {
  const metadata = '/m.json';

  it('push what is built, offline and insecure where it is said so', () => {
    const plain = argumentsOf(request, { insecure: false, metadata });
    expect(plain).toContain('type=image,name=registry:5000/p/base:1,push=true');
    expect(plain).toContain('filename=docker/Dockerfile');
    expect(plain.join(' ')).not.toContain('force-network-mode');
    const other = argumentsOf({ ...request, offline: true }, { insecure: true, metadata });
    expect(other).toContain('type=image,name=registry:5000/p/base:1,push=true,registry.insecure=true');
    expect(other).toContain('force-network-mode=none');
  });

  it('name the stage and the values of ARG', () => {
    const args = argumentsOf(
      { ...request, target: 'run', args: { A: 'b c' } },
      { insecure: false, metadata },
    );
    expect(args).toEqual(expect.arrayContaining(['target=run', 'build-arg:A=b c']));
  });
});

describe('a build', () => {
  it('gives the digest that the client wrote down', async () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    const client = await withClient(
      `for file; do :; done; echo '{"containerimage.digest":"${digest}"}' > "$file"`,
    );
    expect(await client.build(request)).toBe(digest);
  });

  it('ends the client when it is given up, and gives the reason', async () => {
    const client = await withClient(
      `trap 'echo ended > ${dir}/end; exit 1' TERM; echo > ${dir}/begun; while :; do sleep 0.05; done`,
    );
    const ending = new AbortController();
    const building = client.build(request, ending.signal);
    const failed = expect(building).rejects.toThrow('nobody waits');
    while ((await readFile(join(dir, 'begun'), 'utf8').catch(() => null)) === null) await sleep(10);
    ending.abort(new Error('nobody waits'));
    await failed;
    expect(await readFile(join(dir, 'end'), 'utf8')).toBe('ended\n');
  });

  it('fails by its limit of time, with the last lines, as the caller says', async () => {
    const client = await withClient('echo "#5 0.1 still at it" >&2; exec sleep 30');
    const late = client.build({ ...request, timeoutMs: 500 });
    await expect(late).rejects.toMatchObject({ failureClass: 'ImageMissing' });
    await expect(late).rejects.toThrow(/longer than its limit of 1 s\nstill at it/);
  });

  it('is the platform’s failure where the client ends without a word', async () => {
    const client = await withClient('kill -9 $$');
    await expect(client.build(request)).rejects.toMatchObject({ failureClass: 'PlatformUnavailable' });
  });

  it('names the client that is not there, and what builds where nothing does', async () => {
    const registry = { repository: 'registry:5000/p' };
    const gone = { address: 'tcp://x:1', buildctl: join(dir, 'none') };
    const absent = new BuildKit(KubernetesConfigSchema.parse({ registry, buildkit: gone }), process.env);
    await expect(absent.build(request)).rejects.toMatchObject({ failureClass: 'ConfigInvalid' });
    await expect(absent.build(request)).rejects.toThrow(
      /none, BuildKit's client, cannot be run.*buildkit\.buildctl/,
    );
    const nothing = new BuildKit(KubernetesConfigSchema.parse({ registry }), process.env);
    await expect(nothing.build(request)).rejects.toThrow(
      /base:1 is not in the registry.*passband images build/,
    );
  });

  it('hands the client the credentials that are named, under the name that it looks for', async () => {
    const file = join(dir, '.dockerconfigjson');
    await writeFile(file, '{"auths":{}}');
    const program = join(dir, 'buildctl');
    await writeFile(program, `#!/bin/sh\ncp "$DOCKER_CONFIG/config.json" ${dir}/seen; exit 1\n`);
    await chmod(program, 0o755);
    const registry = { repository: 'registry:5000/p', dockerConfig: file };
    const buildkit = { address: 'tcp://x:1', buildctl: program };
    const client = new BuildKit(KubernetesConfigSchema.parse({ registry, buildkit }), process.env);
    await expect(client.build(request)).rejects.toMatchObject({ failureClass: 'PlatformUnavailable' });
    expect(await readFile(join(dir, 'seen'), 'utf8')).toBe('{"auths":{}}');
  });
});
