import { describe, expect, it } from 'vitest';
import { canaryPod } from '../../k8s/canary-pod.ts';
import {
  clusterTargets,
  distinctTargets,
  namesAndAddresses,
  nameserverOf,
  surveyed,
  unanswered,
} from '../../k8s/canary-targets.ts';
import { KubernetesConfigSchema } from '../../k8s/config.ts';
import { canaryLabel } from '../../k8s/network-policy.ts';
import type { ProofTarget } from '../../sandbox/egress.ts';

const places = {
  server: 'https://172.30.0.1:6443',
  service: { host: '10.96.0.1', port: 443 },
  nameserver: '10.96.0.10',
  peer: { podIP: '10.244.1.7', hostIP: '172.30.0.12' },
};
const at = (name: string): ProofTarget => ({ name, kind: 'tcp', host: name, port: 1 });
const open = (address: string) => ({ outcome: 'open', detail: 'answered', address });
const told = (targets: readonly ProofTarget[]) =>
  targets.map(({ name, kind, host, port }) => `${name} ${kind} ${host}:${port}`);

describe('the targets of a survey', () => {
  it('are the places of the cluster itself (C50)', () => {
    expect(told(clusterTargets(places))).toEqual([
      'API server tcp 172.30.0.1:6443',
      'Service tcp 10.96.0.1:443',
      'kubelet tcp 172.30.0.12:10250',
      'another pod tcp 10.244.1.7:7007',
      'DNS udp-dns 10.96.0.10:53',
    ]);
  });

  it('have the Service for an API server that we reach through a proxy of our own machine', () => {
    for (const server of ['https://127.0.0.1:40123', 'https://localhost', 'https://[::1]:6443']) {
      expect(told(clusterTargets({ ...places, server }))[0]).toBe('API server tcp 10.96.0.1:443');
    }
    expect(told(clusterTargets({ ...places, server: 'https://api.example' }))[0]).toContain(
      'api.example:443',
    );
    const unknown = { ...places, server: 'https://127.0.0.1:1', service: null, nameserver: null };
    expect(told(clusterTargets(unknown)).map((line) => line.split(' tcp')[0])).toEqual([
      'kubelet',
      'another pod',
    ]);
  });

  it('have each name once, and are as many as one proof takes', () => {
    const target = (name: string, port = 1): ProofTarget => ({ name, kind: 'tcp', host: 'h', port });
    expect(distinctTargets([[target('a', 1)], [target('a', 2), target('b')]])).toEqual([
      target('a', 1),
      target('b'),
    ]);
    const many = Array.from({ length: 100 }, (_, at) => target(`t${at}`));
    expect(distinctTargets([many]).length).toBeLessThanOrEqual(63);
  });

  it('are asked of the canary by name, and by the address that a name has for us', async () => {
    // Longer than a name may be: no server is asked.
    const nobody = 'x'.repeat(300);
    const hosts = (await namesAndAddresses([at('localhost'), at('10.1.1.1'), at(nobody)])).map(
      ({ host }) => host,
    );
    expect(hosts[1]).toMatch(/^127\.0\.0\.1$|^::1$/);
    expect(hosts.toSpliced(1, 1)).toEqual(['localhost', '10.1.1.1', nobody]);
  });

  it('are tried in a sandbox at the address that answered the canary, and at ours', () => {
    const asked = [at('model.example'), { ...at('model.example'), host: '192.0.2.7' }];
    const probes = [open('10.9.9.9'), { outcome: 'denied', detail: 'no answer', address: null }];
    expect(surveyed(asked, probes)).toEqual([
      { ...asked[0], host: '10.9.9.9', provable: true, detail: 'answered' },
      { ...asked[1], provable: false, detail: 'no answer' },
    ]);
    expect(surveyed(asked, [open('192.0.2.7'), open('192.0.2.7')])).toHaveLength(1);
  });

  it('keep a name that led to no address for the telling, and leave it out where another way did', () => {
    const unresolved = { outcome: 'untried', detail: 'name not resolved', address: null };
    const told = { provable: false, detail: 'name not resolved' };
    expect(surveyed([at('model.example')], [unresolved])).toEqual([{ ...at('model.example'), ...told }]);
    const asked = [at('model.example'), { ...at('model.example'), host: '192.0.2.7' }];
    expect(surveyed(asked, [unresolved, open('192.0.2.7')])).toEqual([
      { ...asked[1], provable: true, detail: 'answered' },
    ]);
  });

  it('are unanswered where no place of their name answers', () => {
    const asked = [at('a'), { ...at('a'), host: '192.0.2.7' }, at('b')];
    const [yes, no] = [{ outcome: 'open' }, { outcome: 'denied' }];
    expect(unanswered(asked, [no, yes, no])).toEqual(['b']);
    expect(unanswered(asked, [no, no, yes])).toEqual(['a']);
  });

  it('ask the first name server of a pod', () => {
    expect(nameserverOf('search a.b\n nameserver 10.0.0.10\nnameserver 10.0.0.11\n')).toBe('10.0.0.10');
    expect(nameserverOf('# nameserver 1.1.1.1\n')).toBeNull();
  });
});

describe('the pods of a survey', () => {
  const { pod: config } = KubernetesConfigSchema.parse({ registry: { repository: 'r:5000/passband' } });
  const request = { name: 'pb-sweep', labels: { 'passband.sweep': 'demo' }, targets: [], lifetimeSec: 90 };
  const image = { reference: 'r:5000/passband/toolbox:1', digest: `sha256:${'2'.repeat(64)}` };
  const make = (part: 'canary' | 'peer') => canaryPod(request, part, { image, owner: null, config });

  it('are let out by their label alone, and end with their sweep', () => {
    expect(make('canary').metadata).toMatchObject({
      name: 'pb-sweep-canary',
      labels: { ...canaryLabel, 'passband.sweep': 'demo' },
    });
    expect(make('canary').spec).toMatchObject({
      dnsPolicy: 'ClusterFirst',
      activeDeadlineSeconds: 90,
      automountServiceAccountToken: false,
      restartPolicy: 'Never',
    });
    expect(make('canary').spec).not.toHaveProperty('dnsConfig');
  });

  it('hold the toolbox alone, and the peer listens', () => {
    const command = (part: 'canary' | 'peer') => make(part).spec?.containers[0]?.command?.slice(1).join(' ');
    expect(make('peer').spec?.containers[0]?.image).toBe(`r:5000/passband/toolbox@${image.digest}`);
    expect([command('canary'), command('peer')]).toEqual([
      'init --workdir /',
      'init --workdir / --listen 7007',
    ]);
  });
});
