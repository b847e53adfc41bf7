// A socket in front of another one whose connections a test can cut, at once or after a number of bytes.
import { createServer, connect, type Socket } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface CutProxy {
  readonly path: string;
  /** Cuts every connection that is open. */
  cut(): void;
  /** Cuts all of them, once, when so many more bytes have passed in both directions. */
  cutAfter(bytes: number): void;
  /** Cuts them, and takes no new one until `back` is called. */
  vanish(): { back(): void };
  close(): Promise<void>;
}

export async function startCutProxy(target: string): Promise<CutProxy> {
  const dir = await mkdtemp(join(tmpdir(), 'passband-proxy-'));
  const path = join(dir, 'proxy.sock');
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
    const far = connect({ path: target, allowHalfOpen: true });
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
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    path,
    cut,
    cutAfter: (bytes) => (left = bytes),
    vanish: () => {
      silent = true;
      cut();
      return { back: () => (silent = false) };
    },
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
      await rm(dir, { recursive: true, force: true });
    },
  };
}
