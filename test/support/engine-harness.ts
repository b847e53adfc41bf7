// The conformance harness of the engine driver: real images, a proxy that can cut, and a hand on the engine itself.
import Docker from 'dockerode';
import type { Image } from '../../domain/gate.ts';
import { registerBase } from '../../sandbox/engine/base-images.ts';
import { createEngineDriver } from '../../sandbox/engine/driver.ts';
import { parseEndpoint, type Endpoint } from '../../sandbox/engine/endpoint.ts';
import type { SandboxDriver } from '../../sandbox/port.ts';
import {
  tarOf,
  type Entry,
  type Harness,
  type ImageKind,
  type Platform,
} from '../sandbox/conformance/harness.ts';
import { startCutProxy } from './cut-proxy.ts';
import { startTestEngine } from './engine.ts';

/** The base of most test images, made from this machine's mirror where the engine does not have it. */
export async function ensureDebian(endpoint: Endpoint): Promise<void> {
  const docker = new Docker(endpoint.options);
  try {
    await docker.getImage('docker.io/library/debian:12').inspect();
  } catch {
    const source = { kind: 'debootstrap', suite: 'bookworm', packages: [] } as const;
    await registerBase(endpoint, { name: 'debian:12', source });
  }
}

export async function buildImage(
  driver: SandboxDriver,
  digest: string,
  entries: readonly Entry[],
): Promise<Image> {
  return driver.images.ensure({
    kind: 'build',
    digest,
    context: () => Promise.resolve(tarOf(entries)),
    dockerfile: 'Dockerfile',
    offline: false,
    timeoutMs: 600_000,
  });
}

const dockerfile = (text: string): Entry => ({ header: { name: 'Dockerfile' }, content: text });

export function contextOf(kind: ImageKind): readonly Entry[] {
  switch (kind) {
    case 'debian':
      return [dockerfile('FROM debian:12\n')];
    case 'user':
      return [
        dockerfile(
          'FROM debian:12\nRUN useradd -m -u 1000 app && groupadd extra && usermod -aG extra app\nUSER app\nWORKDIR /home/app\nENTRYPOINT ["/usr/bin/env"]\n',
        ),
      ];
    case 'volume':
      return [dockerfile('FROM debian:12\nRUN mkdir /vol && echo image > /vol/image\nVOLUME /vol\n')];
    case 'busybox':
      return [
        dockerfile(
          'FROM debian:12 AS build\nRUN apt-get update && apt-get install -y --no-install-recommends busybox-static\nFROM scratch\nCOPY --from=build /bin/busybox /bin/busybox\nCOPY --from=build /bin/busybox /bin/sh\n',
        ),
      ];
  }
}

export const enginePlatform: Platform = {
  restarts: true,
  limitsPids: true,
  followsAccounts: true,
  memoryEnds: 'process',
  setuidGains: false,
  diskNoticeMs: 6_000,
};

export interface EngineHarness extends Harness {
  /** The engine itself, past the proxy. */
  readonly endpoint: Endpoint;
}

export async function engineHarness(): Promise<EngineHarness> {
  const engine = await startTestEngine();
  await ensureDebian(engine.endpoint);
  const { socketPath } = engine.endpoint.options;
  if (socketPath === undefined) throw new Error('the conformance suite wants an engine on a unix socket');
  const proxy = await startCutProxy(socketPath);
  const proxied = parseEndpoint(proxy.path);
  const driver = createEngineDriver(proxied);
  const otherDriver = createEngineDriver(engine.endpoint);
  const docker = new Docker(engine.endpoint.options);
  const images = new Map<ImageKind, Promise<Image>>();
  const image = (kind: ImageKind): Promise<Image> => {
    const known = images.get(kind) ?? buildImage(otherDriver, `conf-${kind}`, contextOf(kind));
    images.set(kind, known);
    return known;
  };
  return {
    endpoint: engine.endpoint,
    driver,
    otherDriver,
    image,
    outside: {
      cut: (afterBytes) => {
        if (afterBytes === undefined) proxy.cut();
        else proxy.cutAfter(afterBytes);
      },
      kill: async (name) => {
        await docker.getContainer(name).kill({ signal: 'SIGKILL' });
      },
      delete: async (name) => {
        await docker.getContainer(name).remove({ force: true });
      },
      restart: async (name) => {
        await docker.getContainer(name).restart({ t: 0 });
      },
      replace: async (name) => {
        await docker.getContainer(name).remove({ force: true });
        const { reference } = await image('debian');
        await docker.createContainer({ name, Image: reference, Cmd: ['sleep', '1'] });
      },
      vanish: () => proxy.vanish(),
    },
    close: async () => {
      await driver.close();
      await otherDriver.close();
      await proxy.close();
      await engine.stop();
    },
  };
}
