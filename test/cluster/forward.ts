// Takes connections at one address and hands them to another: `node forward.ts HOST:PORT HOST:PORT`.
import { connect, createServer } from 'node:net';

function addressAt(index: number): { readonly host: string; readonly port: number } {
  const [host = '', port = ''] = (process.argv[index] ?? '').split(':');
  return { host, port: Number(port) };
}

const from = addressAt(2);
const to = addressAt(3);
createServer((inner) => {
  const outer = connect(to);
  inner.pipe(outer).pipe(inner);
  inner.on('error', () => outer.destroy()).on('close', () => outer.destroy());
  outer.on('error', () => inner.destroy()).on('close', () => inner.destroy());
}).listen({ ...from, backlog: 1024 });
