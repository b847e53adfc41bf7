// The registry client against servers that ask for credentials, are busy, or are not what they say.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KubernetesConfigSchema } from '../../../k8s/config.ts';
import { Registry } from '../../../k8s/images/registry.ts';

let server: Server;
let host: string;
let dir: string;
let asked: string[];
let answer: (request: IncomingMessage, response: ServerResponse) => unknown;

const digest = `sha256:${'ab'.repeat(32)}`;
const sha256 = (body: string): string => `sha256:${createHash('sha256').update(body).digest('hex')}`;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'passband-test-'));
  asked = [];
  answer = (_, response) => response.setHeader('docker-content-digest', digest).end();
  server = createServer((request, response) => {
    asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
    void answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(dir, { recursive: true });
});

function registryOf(
  more: Readonly<Record<string, unknown>> = {},
  env: NodeJS.ProcessEnv = { DOCKER_CONFIG: dir },
) {
  const registry = { repository: `${host}/p`, insecure: true, ...more };
  return new Registry(KubernetesConfigSchema.parse({ registry }).registry, env);
}

const keepConfig = async (config: unknown): Promise<string> => {
  const file = join(dir, 'secret.json');
  await writeFile(file, JSON.stringify(config));
  return file;
};

/** Serves what is in the map by its path; 404 for the rest. */
const serve = (content: Readonly<Record<string, string>>) => {
  answer = (request, response) => {
    const body = content[request.url ?? ''];
    response.statusCode = body === undefined ? 404 : 200;
    response.end(body);
  };
};

describe('a digest', () => {
  it('is what the registry says of the tag, and null where it has none', async () => {
    const registry = registryOf({ mirrors: { 'docker.io': host } });
    expect(await registry.digestOf(`${host}/p/task:1`)).toBe(digest);
    expect(await registry.digestOf('debian:12')).toBe(digest);
    expect(asked).toEqual(['HEAD /v2/p/task/manifests/1', 'HEAD /v2/library/debian/manifests/12']);
    serve({});
    expect(await registry.digestOf(`${host}/p/task:2`)).toBeNull();
  });

  it('is counted where the registry does not say it', async () => {
    serve({ '/v2/p/task/manifests/1': '{}' });
    expect(await registryOf().digestOf(`${host}/p/task:1`)).toBe(sha256('{}'));
  });

  it('of what names no image is the task’s to mend', async () => {
    await expect(registryOf().digestOf('No Image')).rejects.toMatchObject({ failureClass: 'ImageMissing' });
  });
});

describe('credentials', () => {
  const guarded = (granted: string, challenge: string) => {
    answer = (request, response) => {
      if (request.url?.startsWith('/token') === true) return;
      const allowed = request.headers.authorization === granted;
      response.statusCode = allowed ? 200 : 401;
      response.setHeader('www-authenticate', challenge).setHeader('docker-content-digest', digest).end();
    };
  };
  const bearer = (): string =>
    `Bearer realm="http://${host}/token",service="s",scope="repository:p/task:pull"`;

  /** A token for whoever shows `expected`. */
  const withTokens = (expected: (request: IncomingMessage, body: string) => boolean) => {
    const rest = answer;
    answer = async (request, response) => {
      if (request.url?.startsWith('/token') !== true) return rest(request, response);
      const shown = expected(request, await text(request));
      response.statusCode = shown ? 200 : 401;
      return response.end(JSON.stringify({ token: 'granted' }));
    };
  };

  it('are a token that anybody gets, asked for once', async () => {
    guarded('Bearer granted', bearer());
    withTokens(({ headers }) => headers.authorization === undefined);
    const registry = registryOf();
    expect(await registry.digestOf(`${host}/p/task:1`)).toBe(digest);
    expect(await registry.digestOf(`${host}/p/task:2`)).toBe(digest);
    expect(asked).toEqual([
      'HEAD /v2/p/task/manifests/1',
      'GET /token?service=s&scope=repository%3Ap%2Ftask%3Apull',
      'HEAD /v2/p/task/manifests/1',
      'HEAD /v2/p/task/manifests/2',
    ]);
  });

  it('are shown for a token, or as they are, from the file that is named', async () => {
    const auth = Buffer.from('me:secret').toString('base64');
    const dockerConfig = await keepConfig({ auths: { [`https://${host}/v2/`]: { auth } } });
    guarded('Bearer granted', bearer());
    withTokens(({ headers }) => headers.authorization === `Basic ${auth}`);
    expect(await registryOf({ dockerConfig }).digestOf(`${host}/p/task:1`)).toBe(digest);
    guarded(`Basic ${auth}`, 'Basic realm="x"');
    expect(await registryOf({ dockerConfig }).digestOf(`${host}/p/task:1`)).toBe(digest);
  });

  it('are an identity token, changed for one', async () => {
    const dockerConfig = await keepConfig({ auths: { [host]: { auth: '', identitytoken: 'mine' } } });
    guarded('Bearer granted', bearer());
    withTokens(
      ({ method }, body) => method === 'POST' && new URLSearchParams(body).get('refresh_token') === 'mine',
    );
    expect(await registryOf({ dockerConfig }).digestOf(`${host}/p/task:1`)).toBe(digest);
  });

  it('are what the helper says that the file names', async () => {
    const helper = join(dir, 'docker-credential-test');
    await writeFile(helper, '#!/bin/sh\ncat >/dev/null; echo \'{"Username":"me","Secret":"secret"}\'\n');
    await chmod(helper, 0o755);
    const dockerConfig = await keepConfig({ credHelpers: { [host]: 'test' } });
    guarded(`Basic ${Buffer.from('me:secret').toString('base64')}`, 'Basic realm="x"');
    const env = { PATH: `${dir}${delimiter}${process.env['PATH'] ?? ''}` };
    expect(await registryOf({ dockerConfig }, env).digestOf(`${host}/p/task:1`)).toBe(digest);
  });

  it('that do not suffice are Forbidden, and never repeated', async () => {
    const dockerConfig = await keepConfig({ auths: { [host]: { username: 'me', password: 'secret' } } });
    guarded('Basic another', 'Basic realm="x"');
    const refused = registryOf({ dockerConfig }).digestOf(`${host}/p/task:1`);
    await expect(refused).rejects.toMatchObject({ failureClass: 'Forbidden' });
    await expect(refused).rejects.toThrow(/looking for .*p\/task:1: HTTP 401$/);
    guarded('Bearer other', bearer());
    withTokens(() => false);
    await expect(registryOf().digestOf(`${host}/p/task:1`)).rejects.toMatchObject({
      failureClass: 'Forbidden',
    });
  });

  it('in a file that is not there, or is none, stop with its name', async () => {
    guarded('Basic x', 'Basic realm="x"');
    const file = join(dir, 'none.json');
    await expect(registryOf({ dockerConfig: file }).digestOf(`${host}/p/t:1`)).rejects.toThrow(
      /none\.json: cannot be read/,
    );
    await writeFile(file, '{"auths": "secret"}');
    await expect(registryOf({ dockerConfig: file }).digestOf(`${host}/p/t:1`)).rejects.toThrow(
      `${file} is no Docker config file`,
    );
  });
});

describe('a registry that does not answer', () => {
  it.each([429, 500, 503])('C35: HTTP %i is transient, with the delay that it asks for', async (status) => {
    answer = (_, response) => {
      response.writeHead(status, { 'retry-after': '120' }).end();
    };
    await expect(registryOf().digestOf(`${host}/p/task:1`)).rejects.toMatchObject({
      ...{ failureClass: 'ImagePullTransient', retryAfterMs: 120_000 },
    });
  });

  it('is transient where the connection is refused or breaks', async () => {
    answer = (request) => request.socket.destroy();
    await expect(registryOf().digestOf(`${host}/p/task:1`)).rejects.toMatchObject({
      failureClass: 'ImagePullTransient',
    });
    server.close();
    server.closeAllConnections();
    const refused = registryOf().digestOf(`${host}/p/task:1`);
    await expect(refused).rejects.toMatchObject({ failureClass: 'ImagePullTransient' });
    await expect(refused).rejects.toThrow(/ECONNREFUSED/);
  });

  it('is the configuration’s to mend where it has no TLS, and the task’s where only a task names it', async () => {
    const known = registryOf({ insecure: false }).digestOf(`${host}/p/task:1`);
    await expect(known).rejects.toMatchObject({ failureClass: 'ConfigInvalid' });
    const others = registryOf({ repository: 'registry.invalid/p' });
    await expect(others.digestOf(`${host}/p/task:1`)).rejects.toMatchObject({ failureClass: 'ImageMissing' });
    await expect(others.digestOf('nowhere.invalid/x:1')).rejects.toMatchObject({
      failureClass: 'ImageMissing',
    });
  });

  it('gives way to whoever gives up', async () => {
    answer = () => undefined;
    const waiting = registryOf().digestOf(`${host}/p/task:1`, AbortSignal.timeout(100));
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});

describe('facts of an image', () => {
  const config = JSON.stringify({
    config: { User: 'app', WorkingDir: '/w', Entrypoint: ['/e', 'a'], Volumes: { '/v': {} } },
  });
  const manifest = JSON.stringify({ config: { digest: sha256(config) } });
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const image = (of: string) => ({ reference: `${host}/p/task:1`, digest: sha256(of) });
  const blobs = {
    [`/v2/p/task/manifests/${sha256(manifest)}`]: manifest,
    [`/v2/p/task/blobs/${sha256(config)}`]: config,
  };

  it('are read by its digest, once for all who ask', async () => {
    serve(blobs);
    const registry = registryOf();
    const expected = {
      ...{ user: 'app', workdir: '/w', entrypoint: ['/e', 'a'], volumes: ['/v'] },
      ...{ command: [], healthcheck: null, ports: [] },
    };
    const both = [registry.facts(image(manifest)), registry.facts(image(manifest))];
    expect(await Promise.all(both)).toEqual([expected, expected]);
    expect(await registry.facts(image(manifest))).toEqual(expected);
    expect(asked).toHaveLength(2);
  });

  it('are root’s at the root where the image says nothing', async () => {
    const bare = '{}';
    const of = JSON.stringify({ config: { digest: sha256(bare) } });
    serve({ [`/v2/p/task/manifests/${sha256(of)}`]: of, [`/v2/p/task/blobs/${sha256(bare)}`]: bare });
    expect(await registryOf().facts(image(of))).toEqual({
      user: '',
      workdir: '/',
      entrypoint: [],
      volumes: [],
      ...{ command: [], healthcheck: null, ports: [] },
    });
  });

  it('tell what a service starts, how its health is asked, and what it listens on', async () => {
    const service = JSON.stringify({
      config: {
        Cmd: ['serve', '-v'],
        ExposedPorts: { '8000': {}, '5432/tcp': {}, '53/udp': {} },
        Healthcheck: { Test: ['CMD-SHELL', 'ready || exit 1'], Interval: 2e9, Timeout: 0, Retries: 5 },
      },
    });
    const of = JSON.stringify({ config: { digest: sha256(service) } });
    serve({ [`/v2/p/task/manifests/${sha256(of)}`]: of, [`/v2/p/task/blobs/${sha256(service)}`]: service });
    expect(await registryOf().facts(image(of))).toMatchObject({
      command: ['serve', '-v'],
      healthcheck: {
        ...{ argv: ['/bin/sh', '-c', 'ready || exit 1'], intervalSec: 2, timeoutSec: null },
        ...{ startPeriodSec: null, startIntervalSec: null, retries: 5 },
      },
      ports: [
        { port: 8000, protocol: 'tcp' },
        { port: 5432, protocol: 'tcp' },
        { port: 53, protocol: 'udp' },
      ],
    });
  });

  it('ask nobody where the image turns its health off', async () => {
    const none = JSON.stringify({ config: { Healthcheck: { Test: ['NONE'] } } });
    const of = JSON.stringify({ config: { digest: sha256(none) } });
    serve({ [`/v2/p/task/manifests/${sha256(of)}`]: of, [`/v2/p/task/blobs/${sha256(none)}`]: none });
    expect(await registryOf().facts(image(of))).toMatchObject({ healthcheck: null });
  });

  it('are those of this platform where there are several', async () => {
    const other = { digest, platform: { os: 'linux', architecture: 'riscv64' } };
    const ours = { digest: sha256(manifest), platform: { os: 'linux', architecture } };
    const index = JSON.stringify({ manifests: [other, ours] });
    const foreign = JSON.stringify({ manifests: [other] });
    serve({
      ...blobs,
      [`/v2/p/task/manifests/${sha256(index)}`]: index,
      [`/v2/p/task/manifests/${sha256(foreign)}`]: foreign,
    });
    expect(await registryOf().facts(image(index))).toMatchObject({ user: 'app' });
    await expect(registryOf().facts(image(foreign))).rejects.toThrow(
      `has no image for linux/${architecture}`,
    );
  });

  it('are taken from nothing but what the digest names, and asked for anew after a failure', async () => {
    serve({ ...blobs, [`/v2/p/task/manifests/${sha256(manifest)}`]: `${manifest} ` });
    const registry = registryOf();
    await expect(registry.facts(image(manifest))).rejects.toMatchObject({
      failureClass: 'ImagePullTransient',
    });
    serve(blobs);
    expect(await registry.facts(image(manifest))).toMatchObject({ user: 'app' });
    serve({});
    await expect(registryOf().facts(image(manifest))).rejects.toMatchObject({ failureClass: 'ImageMissing' });
    serve({ [`/v2/p/task/manifests/${sha256('x')}`]: 'x' });
    await expect(registryOf().facts(image('x'))).rejects.toThrow(/is of no format of images/);
  });
});
