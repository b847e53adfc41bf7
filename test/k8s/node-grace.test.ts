// How long a node has been silent is told by the clock of who wrote since when, and not by the worker's.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, describe, expect, it } from 'vitest';
import { Client } from '../../k8s/client.ts';
import { KubernetesConfigSchema } from '../../k8s/config.ts';
import { Controls } from '../../k8s/control.ts';
import { Nodes } from '../../k8s/nodes.ts';
import { lifeOf } from '../../k8s/observed-pod.ts';
import { PodLink } from '../../k8s/pod-link.ts';
import { Pods } from '../../k8s/pods.ts';
import { PodsWatch } from '../../k8s/pods-watch.ts';
import { observed } from './observed.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const nodeGraceSec = 40;

/** A pod whose node fell silent at a moment of the server's clock, looked at later by that clock. */
async function stateAfter(silentSec: number, serverAheadSec: number) {
  const serverMs = Date.now() + serverAheadSec * 1_000;
  const lastTransitionTime = new Date(serverMs - silentSec * 1_000).toISOString();
  const pod = observed({ conditions: [{ type: 'Ready', status: 'False', lastTransitionTime }] });
  const server = createServer((_, response) =>
    response.setHeader('date', new Date(serverMs).toUTCString()).end(JSON.stringify(pod)),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const config = new KubeConfig();
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config.loadFromClusterAndUser({ name: 'c', server: address, skipTLSVerify: true }, { name: 'u' });
  const client = new Client(config);
  closing.push(async () => {
    await client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const pods = new Pods(client, 'trials');
  const placing = { pods, watch: new PodsWatch(pods), nodes: new Nodes(client), placeSec: 1 };
  const file = KubernetesConfigSchema.parse({ registry: { repository: 'registry.internal' } });
  const parts = { ...placing, controls: new Controls(placing, file.pod), nodeGraceSec };
  const { name, uid } = pod.metadata;
  const linked = { name, uid, startedAt: lifeOf(pod) ?? '', hostIP: '', volumes: [] };
  return new PodLink(parts, linked).state();
}

describe('a silent node', () => {
  it.each([0, 3_600, -3_600])(
    'is given up when its grace is over by the clock of its cluster, %i s ahead of ours',
    async (aheadSec) => {
      expect(await stateAfter(nodeGraceSec - 10, aheadSec)).toEqual({ kind: 'alive' });
      expect(await stateAfter(nodeGraceSec + 10, aheadSec)).toMatchObject({
        ...{ kind: 'gone', cause: 'platform', why: 'host-lost' },
      });
    },
  );
});
