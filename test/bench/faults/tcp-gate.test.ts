// The gate: one address, whatever is behind it.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { openTcpGate } from '../../../bench/faults/tcp-gate.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A server that says its name to whoever comes, and its address. */
async function named(name: string): Promise<string> {
  const server = createServer((socket) => socket.on('error', () => undefined).write(name));
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const open = (address: string): Socket => {
  const [host = '', port] = address.split(':');
  return connect({ host, port: Number(port) }).on('error', () => undefined);
};

it('leads to what is behind it now, and cuts what is open when that changes', async () => {
  const gate = await openTcpGate();
  gate.lead(await named('first'));
  const socket = open(gate.address);
  const [first] = (await once(socket, 'data')) as [Buffer];
  expect(first.toString()).toBe('first');

  const closed = once(socket, 'close');
  gate.lead(null);
  await closed;
  await once(open(gate.address), 'close');

  gate.lead(await named('second'));
  const other = open(gate.address);
  const [second] = (await once(other, 'data')) as [Buffer];
  expect(second.toString()).toBe('second');
  await gate.close();
});
