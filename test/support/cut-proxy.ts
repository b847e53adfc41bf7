// A listener in front of another one whose connections a test can cut, freeze, or take away altogether.
import { createServer, connect, type AddressInfo, type NetConnectOpts, type Socket } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Cuttable {
  /** Cuts every connection that is open. */
  cut(): void;
  /** Cuts all of them, once, when so many more bytes have passed in both directions. */
  cutAfter(bytes: number): void;
  /** Cuts them, and takes no new one until `back` is called. */
  vanish(): { back(): void };
  /** Connections that are open carry nothing any more, and say nothing of it; new ones work. */
  freeze(): void;
  close(): Promise<void>;
}

export interface CutProxy extends Cuttable {
  readonly path: string;
}

export interface TcpProxy extends Cuttable {
  readonly port: number;
}

/** In front of a unix socket, at one of its own. */
export async function startCutProxy(target: string): Promise<CutProxy> {
  const dir = await mkdtemp(join(tmpdir(), 'passband-proxy-'));
  const path = join(dir, 'proxy.sock');
  const { cuttable } = await startProxy({ path: target }, { path });
  const close = async (): Promise<void> => {
    await cuttable.close();
    await rm(dir, { recursive: true, force: true });
  };
  return { ...cuttable, path, close };
}

/** In front of a port, at a free one of the loopback address. */
export async function startTcpProxy(target: {
  readonly host: string;
  readonly port: number;
}): Promise<TcpProxy> {
  const { cuttable, address } = await startProxy(target, { host: '127.0.0.1', port: 0 });
  const { port } = address as AddressInfo;
  return { ...cuttable, port };
}

async function startProxy(
  target: NetConnectOpts,
  at: { readonly path: string } | { readonly host: string; readonly port: number },
): Promise<{ readonly cuttable: Cuttable; readonly address: AddressInfo | string | null }> {
  const open = new Set<Socket>();
  let silent = false;
  let left = Infinity;
  const cut = (): void => {
    left = Infinity;
    for (const socket of open) socket.destroy();
  };
  const count = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left <= 0) cut();
  };
  const server = createServer({ allowHalfOpen: true }, (near) => {
    if (silent) {
      near.destroy();
      return;
    }
    const far = connect({ ...target, allowHalfOpen: true });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on('data', count);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(at, resolve));
  const cuttable: Cuttable = {
    cut,
    cutAfter: (bytes) => (left = bytes),
    freeze: () => {
      for (const socket of open) {
        socket.unpipe();
        socket.removeAllListeners('data');
        socket.pause();
      }
    },
    vanish: () => {
      silent = true;
      cut();
      return { back: () => (silent = false) };
    },
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return { cuttable, address: server.address() };
}
