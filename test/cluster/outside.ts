// The world outside, as a probe sees it: TCP on 53, 80 and 443 is accepted and closed, a DNS question is answered (no such name).
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

for (const port of [53, 80, 443]) {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end();
  });
  server.listen({ host: '0.0.0.0', port, backlog: 1024 });
}

const dns = createSocket('udp4');
dns.on('message', (question, peer) => {
  if (question.length < 12) return;
  // The question back, with the bits of a response that says NXDOMAIN.
  const answer = Buffer.concat([question.subarray(0, 2), Buffer.from([0x81, 0x83]), question.subarray(4)]);
  dns.send(answer, peer.port, peer.address);
});
dns.bind(53, '0.0.0.0');
