// A port in front of another one whose connections a test can cut, freeze, or take away altogether.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { CutProxy } from './cut-proxy.ts';

export interface TcpProxy extends Omit<CutProxy, 'path'> {
  readonly port: number;
  /** Connections that are open carry nothing any more, and say nothing of it; new ones work. */
  freeze(): void;
}

export async function startTcpProxy(target: {
  readonly host: string;
  readonly port: number;
}): Promise<TcpProxy> {
  const open = new Set<Socket>();
  let silent = false;
  let left = Infinity;
  const cut = (): void => {
    left = Infinity;
    for (const socket of open) socket.destroy();
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
      one.on('data', (chunk: Buffer) => {
        left -= chunk.length;
        if (left <= 0) cut();
      });
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
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
}
