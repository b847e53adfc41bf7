// Cases of closed egress on a cluster: every place that is not to be reached, and the whole life of what a task starts.
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { CoreV1Api, NetworkingV1Api } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EgressSurvey } from '../../sandbox/egress.ts';
import { sh, specOf, withSandbox } from '../sandbox/conformance/harness.ts';
import { clusterHarness, type ClusterHarness } from '../support/cluster-harness.ts';
import { openClusterScene, type ClusterScene } from '../support/cluster-scene.ts';
import { expectCode, expectFailure } from '../support/passband.ts';
import { writeTasks } from '../support/small-tasks.ts';
import { verdictsOf } from '../support/store-files.ts';

const model = 'known-rate-1';

describe('places that are not to be reached', () => {
  const namespace = 'cases-network';
  const labels = { 'passband.test': 'cases-network' };
  const server = createServer((socket) => socket.destroy());
  let harness: ClusterHarness;
  let survey: EgressSurvey;
  beforeAll(async () => {
    harness = await clusterHarness(namespace);
    await harness.image('debian');
    const core = harness.cluster.client.makeApiClient(CoreV1Api);
    // A port of every node that leads to the canary's peer.
    const selector = { 'passband.role': 'canary' };
    const ports = [{ port: 7_007, targetPort: 7_007 }];
    const service = await core.createNamespacedService({
      namespace,
      body: { metadata: { name: 'peer' }, spec: { type: 'NodePort', selector, ports } },
    });
    server.listen(0, harness.cluster.host);
    await once(server, 'listening');
    const [node] = (await core.listNode()).items;
    const address = node?.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '';
    const tcp = (name: string, host: string, port: number) => ({ name, kind: 'tcp' as const, host, port });
    // Nodes hear of a new port late.
    const required = [...harness.config.proof.required, 'node port'];
    const driver = harness.withConfig({ proof: { ...harness.config.proof, required } });
    survey = await driver.surveyEgress({
      name: 'pb-cases',
      labels,
      lifetimeSec: 600,
      targets: [
        tcp('model endpoint', harness.cluster.host, (server.address() as AddressInfo).port),
        tcp('node port', address, service.spec?.ports?.[0]?.nodePort ?? 0),
        tcp('metadata address, IPv6', 'fd00:ec2::254', 80),
      ],
    });
  });
  afterAll(async () => {
    server.close();
    await harness.close();
  });

  it('are denied one by one, by name, and what cannot answer is never called denied (C50)', async () => {
    const provable = survey.targets.filter((target) => target.provable).map(({ name }) => name);
    expect(provable).toEqual([
      ...['API server', 'Service', 'kubelet', 'another pod', 'DNS', 'metadata address', 'outside address'],
      ...['model endpoint', 'node port'],
    ]);
    await withSandbox(harness, 'debian', async (sandbox) => {
      const { outcome, probes } = await sandbox.proveNetwork(survey, { settleMs: 20_000 });
      expect(outcome).toBe('denied');
      const denied = probes.filter((probe) => probe.outcome === 'denied').map(({ target }) => target);
      // The survey's kubelet, and that of the sandbox's own node.
      expect(denied).toEqual([...provable, 'kubelet']);
      expect(probes.filter((probe) => probe.outcome !== 'denied')).toMatchObject([
        { target: 'metadata address, IPv6', outcome: 'unprovable' },
      ]);
    });
  });

  it('have no way over IPv6: a sandbox has no address of it that leads out of its own link (C50)', async () => {
    await withSandbox(harness, 'debian', async (sandbox) => {
      const { interfaces, routes } = await sandbox.proveNetwork(survey, { settleMs: 20_000 });
      // What is on the link itself, the node's end of it, no policy for IPv4 shuts off, and no target here tells.
      const addresses = interfaces.filter(({ name }) => name !== 'lo').flatMap((one) => one.addresses);
      expect(addresses.filter((address) => address.includes(':') && !/^fe80:/i.test(address))).toEqual([]);
      // Where a kernel knows IPv6 it has a default of its own, which refuses.
      const ways = routes.filter((route) => route.startsWith('::/0') && !route.endsWith(' dev lo'));
      expect(ways).toEqual([]);
    });
  });

  it('include the pod of another trial, whichever node it is on (C50)', async () => {
    const core = harness.cluster.client.makeApiClient(CoreV1Api);
    const specs = await Promise.all([specOf(harness), specOf(harness), specOf(harness)]);
    try {
      const [from, ...others] = await Promise.all(specs.map((spec) => harness.driver.create(spec)));
      if (from === undefined) throw new Error('no sandbox');
      for (const other of others) {
        // It listens and answers, on loopback as it should.
        const listen = `use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalPort => 8080, Listen => 9, ReuseAddr => 1) or die; while (my $c = $s->accept) { print $c "here\\n"; close $c }`;
        await other.start({ id: 'listen', argv: ['/usr/bin/perl', '-e', listen] });
        const own = 'until exec 3<>/dev/tcp/127.0.0.1/8080; do sleep 0.05; done 2>/dev/null; cat <&3';
        expect((await sh(other, `bash -c '${own}'`)).out).toBe('here\n');
        await from.proveNetwork(survey, { settleMs: 20_000 });
        const { status } = await core.readNamespacedPod({ namespace, name: other.identity.name });
        const reach = `timeout 2 bash -c "cat < /dev/tcp/${status?.podIP ?? ''}/8080" 2>/dev/null; echo ended`;
        expect((await sh(from, reach)).out).toBe('ended\n');
      }
    } finally {
      await Promise.all(specs.map(({ name }) => harness.driver.destroy(name)));
    }
  });
});

/** Tries to connect every 10 ms for as long as it lives, and keeps count in a file that is named after its start. */
const tries = (targets: readonly string[]): string => `use strict; use Socket; use Fcntl;
my @targets = map { [split /:/] } qw(${targets.join(' ')});
open(my $log, '>', '/tries/' . shift) or die; my ($n, $opens, @open) = (0, 0);
while (1) {
  my ($host, $port) = @{$targets[$n++ % @targets]};
  socket(my $s, PF_INET, SOCK_STREAM, 0) or die; fcntl($s, F_SETFL, O_NONBLOCK);
  push @open, [$s, $n] unless connect($s, sockaddr_in($port, inet_aton($host))) and ++$opens;
  select(undef, undef, undef, 0.01);
  my @left;
  for my $one (@open) {
    my $bits = ''; vec($bits, fileno($one->[0]), 1) = 1;
    if (select(undef, $bits, undef, 0)) { $opens++ if 0 == unpack('i', getsockopt($one->[0], SOL_SOCKET, SO_ERROR)) }
    elsif ($n - $one->[1] < 100) { push @left, $one }
  }
  @open = @left;
  sysseek($log, 0, 0); syswrite($log, sprintf("%09d %09d\\n", $n, $opens));
}
`;

const offline = (targets: readonly string[]) => ({
  // Not a word of network in it.
  'task.toml':
    '[agent]\ntimeout_sec = 40.0\n[verifier]\ntimeout_sec = 30.0\n[environment]\nworkdir = "/work"\n',
  'environment/Dockerfile':
    'FROM debian:12\nCOPY tries.pl enter.sh /\nRUN mkdir -m 777 /tries /work\nENTRYPOINT ["/bin/sh", "/enter.sh"]\n',
  'environment/enter.sh': '#!/bin/sh\nperl /tries.pl $(date +%s%3N) &\nexec "$@"\n',
  'environment/tries.pl': tries(targets),
  'tests/test.sh': [
    '#!/bin/bash',
    // A verifier starts nothing of its image: there the tests themselves try.
    'perl /tries.pl $(date +%s%3N) & sleep 2; cd /tries',
    'grep -qx hello /work/hello.txt && reward=1 || reward=0',
    'sums=$(cat * | awk \'{ n += $1; o += $2 } END { printf "\\"tries\\": %d, \\"opens\\": %d", n, o }\')',
    'first=$(ls | sort -n | head -n 1); last=$(ls | sort -n | tail -n 1)',
    'echo "{\\"reward\\": $reward, \\"starts\\": $(ls | wc -l), \\"first\\": $first, \\"last\\": $last, $sums}" > /logs/verifier/reward.json',
  ].join('\n'),
});

describe('a sweep over tasks that say nothing of a network', () => {
  let scene: ClusterScene;
  let command: (name: string) => string[];
  beforeAll(async () => {
    scene = await openClusterScene('cases-offline');
    const { hostname, port } = new URL(scene.cluster.client.getCurrentCluster()?.server ?? '');
    const targets = [`${hostname}:${port}`, '203.0.113.10:443', '169.254.169.254:80', scene.cluster.registry];
    const tasks = await writeTasks(path.join(scene.dir, 'tasks'), { offline: offline(targets) });
    command = (name) => [
      ...['sweep', 'start', '--tasks', tasks, '--model', model, '--attempts', '1', '--name', name, '--json'],
      ...scene.flags,
    ];
  });
  afterAll(async () => {
    await scene.close();
  });

  it('runs both pods offline, and what tries all the time gets out never once (C47, C51)', async () => {
    expectCode(await scene.run(command('offline')), 0);
    const [verdict] = await verdictsOf(scene.store, 'offline');
    expect(verdict).toMatchObject({ result: 'passed', generation: 1, networkMode: 'deny' });
    const { rewards = {}, sandboxes = [] } = verdict ?? {};
    expect(rewards).toMatchObject({ starts: 2, opens: 0 });
    // About a hundred a second, on both sides.
    expect(rewards['tries']).toBeGreaterThan(100);
    expect(sandboxes.map(({ phase, network }) => [phase, network.outcome])).toEqual([
      ['agent', 'denied'],
      ['verifier', 'denied'],
    ]);
    expect(sandboxes[0]?.networkAtEnd?.outcome).toBe('denied');
    // Nothing of the image ran before the proof was there.
    const [agent, verifier] = sandboxes.map(({ network }) => Date.parse(network.at));
    expect(rewards['first']).toBeGreaterThanOrEqual(agent ?? Infinity);
    expect(rewards['last']).toBeGreaterThanOrEqual(verifier ?? Infinity);
    expect(await scene.left()).toEqual([]);
  });

  it('stops with one clear line where the policy is not there: nothing is graded (C49)', async () => {
    const networking = scene.cluster.client.makeApiClient(NetworkingV1Api);
    const { namespace } = scene;
    await networking.deleteNamespacedNetworkPolicy({ name: 'passband-deny-all', namespace });
    const ended = await scene.run(command('open'));
    expectFailure(ended, 2, /EgressOpen.*egress is open from .*(API server|another pod)/);
    expect(await verdictsOf(scene.store, 'open')).toEqual([]);
    expect(await scene.left()).toEqual([]);
  });
});
