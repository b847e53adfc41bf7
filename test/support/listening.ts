// Servers that tests start as processes of their own: a port for one, and the wait until it listens.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const readyTimeoutMs = 60_000;

/** A loopback port that nobody listened on just now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** @throws where the process ends, or does not listen within a minute. */
export async function untilListening(child: ChildProcess, port: number): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`the server ended with status ${child.exitCode}`);
    const socket = connect(port, '127.0.0.1');
    const answered = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (answered) return;
    await sleep(50);
  }
  throw new Error(`the server did not listen on port ${port} within ${readyTimeoutMs} ms`);
}
