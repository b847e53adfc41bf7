// A port that stays the same in front of one that does not: what is behind it can go, and come back elsewhere.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface TcpGate {
  /** HOST:PORT */
  readonly address: string;
  /** Connections that are made from now on lead there; HOST:PORT, null: nowhere. Those that are open are cut. */
  lead(to: string | null): void;
  close(): Promise<void>;
}

export async function openTcpGate(): Promise<TcpGate> {
  const open = new Set<Socket>();
  let target: { readonly host: string; readonly port: number } | null = null;
  const hold = (socket: Socket, other: Socket): void => {
    open.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      open.delete(socket);
      other.destroy();
    });
  };
  const server = createServer((near) => {
    if (target === null) {
      near.destroy();
      return;
    }
    const far = connect(target);
    hold(near, far);
    hold(far, near);
    near.pipe(far);
    far.pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    lead: (to) => {
      const [host = '', port] = to?.split(':') ?? [];
      target = to === null ? null : { host, port: Number(port) };
      cut();
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}
