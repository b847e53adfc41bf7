import { describe, expect, it } from 'vitest';
import { KubernetesConfigSchema } from '../../k8s/config.ts';
import { givenLabels, keptFacts } from '../../k8s/labels.ts';
import { podOf, type PodRequest } from '../../k8s/pod-spec.ts';
import { specDigest } from '../../sandbox/spec-digest.ts';
import type { SandboxSpec } from '../../sandbox/port.ts';

const spec: SandboxSpec = {
  name: 'pb-0123456789ab-agent',
  image: { reference: 'registry:5000/passband/task:1', digest: `sha256:${'1'.repeat(64)}` },
  labels: { 'passband.sweep': 'demo', 'passband.workflow': `sweep/demo/${'long'.repeat(30)}` },
  cpus: 1.5,
  memoryMiB: 2048,
  diskMiB: 10_240,
  pids: 512,
  env: { A: '1' },
  workdir: null,
  network: 'deny',
  baseline: true,
  lifetimeSec: 3600.2,
};
const image = { user: '', workdir: '/app', entrypoint: ['/start'], volumes: ['/data'] };
const config = (pod: Record<string, unknown> = {}) =>
  KubernetesConfigSchema.parse({ registry: { repository: 'registry:5000/passband' }, pod }).pod;
const make = (change: Partial<PodRequest> = {}) =>
  podOf({ spec, image, config: config(), owner: null, userNamespaces: false, ...change });
const containerOf = (change: Partial<PodRequest> = {}) => make(change).spec?.containers[0];

describe('the pod of a spec', () => {
  it('is given nothing of the cluster: no token, no links, no names, and no second life', () => {
    expect(make().spec).toMatchObject({
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['127.0.0.1'] },
      hostname: 'sandbox',
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      activeDeadlineSeconds: 3601,
    });
    expect(make().spec).not.toHaveProperty('hostNetwork');
    expect(make().spec).not.toHaveProperty('volumes');
    expect(make().spec?.terminationGracePeriodSeconds).toBeLessThanOrEqual(1);
  });

  it('has the supervisor as PID 1 and root, which is told the image user and directory', () => {
    const forget = ['--forget', 'KUBERNETES_SERVICE_,KUBERNETES_PORT'];
    const bounds = ['--max-files', '655360', '--max-processes', '4096'];
    const own = [...forget, ...bounds, '--baseline'];
    const init = ['/opt/passband/bin/supervisor', 'init', '--workdir', '/app', ...own];
    expect(containerOf()).toMatchObject({ command: init, workingDir: '/' });
    expect(containerOf()).not.toHaveProperty('env');
    const other = containerOf({ spec: { ...spec, workdir: '/w' }, image: { ...image, user: 'app:app' } });
    expect(other?.command).toEqual([...init.slice(0, 3), '/w', '--user', 'app:app', ...own]);
    const { command } = containerOf({ spec: { ...spec, baseline: false } }) ?? {};
    expect(command).toEqual(init.slice(0, -1));
    expect(other?.securityContext).toMatchObject({ runAsUser: 0, runAsGroup: 0 });
  });

  it('is pulled by digest', () => {
    expect(containerOf()?.image).toBe(`registry:5000/passband/task@${spec.image.digest}`);
  });

  it('may do what root in an image needs, and gain rights only where its user is not root', () => {
    const security = containerOf()?.securityContext;
    expect(security).toMatchObject({ privileged: false, allowPrivilegeEscalation: false });
    expect(security?.capabilities?.drop).toEqual(['ALL']);
    expect(security?.capabilities?.add).toHaveLength(10);
    expect(security?.capabilities?.add).not.toEqual(expect.arrayContaining(['SYS_ADMIN']));
    const gains = (user: string) =>
      containerOf({ image: { ...image, user } })?.securityContext?.allowPrivilegeEscalation;
    expect([gains('root'), gains('0:5'), gains('app'), gains('1000:0')]).toEqual([false, false, true, true]);
  });

  it('has the limits of the task whole, requests the share of its cpus that is configured, and all of its memory', () => {
    expect(containerOf()?.resources).toEqual({
      requests: { cpu: '1500m', memory: '2048Mi', 'ephemeral-storage': '10240Mi' },
      limits: { cpu: '1500m', memory: '2048Mi', 'ephemeral-storage': '10240Mi' },
    });
    const shared = containerOf({ config: config({ requestedCpus: 0.1 }) });
    expect(shared?.resources).toMatchObject({
      requests: { cpu: '150m', memory: '2048Mi' },
      limits: { cpu: '1500m', memory: '2048Mi' },
    });
  });

  it('is placed as the configuration says', () => {
    const given = {
      runtimeClassName: 'gvisor',
      nodeSelector: { pool: 'trials' },
      tolerations: [{ key: 'trials', operator: 'Exists' }],
      priorityClassName: 'low',
      imagePullSecrets: ['registry'],
    };
    expect(make({ config: config(given) }).spec).toMatchObject({
      ...given,
      imagePullSecrets: [{ name: 'registry' }],
    });
  });

  it('has user namespaces always, never, or where the runtime has them', () => {
    const hostUsers = (userNamespaces: string, seen: boolean) =>
      make({ config: config({ userNamespaces }), userNamespaces: seen }).spec?.hostUsers;
    expect([hostUsers('always', false), hostUsers('auto', true)]).toEqual([false, false]);
    expect([hostUsers('never', true), hostUsers('auto', false)]).toEqual([undefined, undefined]);
  });

  it('is owned by its sweep where it has one', () => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'pb-sweep-1', uid: 'u' };
    expect(make({ owner }).metadata?.ownerReferences).toEqual([owner]);
    expect(make().metadata).not.toHaveProperty('ownerReferences');
  });

  it('carries labels that fit, and keeps what another worker must know', () => {
    const { labels, annotations = {} } = make().metadata ?? {};
    for (const value of Object.values(labels ?? {})) {
      expect(value).toMatch(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/);
    }
    expect(labels).toMatchObject({ 'passband.sweep': 'demo', 'passband.role': 'sandbox' });
    expect(annotations['passband.spec']).toBe(specDigest(spec));
    expect(keptFacts(annotations)).toMatchObject({
      env: { A: '1' },
      network: 'deny',
      imageDigest: spec.image.digest,
      image: { user: '', workdir: '/app', entrypoint: ['/start'] },
      volumes: ['/data'],
      baseline: true,
    });
    expect(givenLabels(annotations)).toEqual(spec.labels);
  });
});
