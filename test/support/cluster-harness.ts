// The conformance harness of the Kubernetes driver: real nodes, a proxy before the API server, and a hand on the runtime.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import type { Image } from '../../domain/gate.ts';
import type { KubernetesConfig } from '../../k8s/config.ts';
import { createKubernetesDriver } from '../../k8s/driver.ts';
import type { SandboxDriver } from '../../sandbox/port.ts';
import type { Harness, ImageKind, Platform } from '../sandbox/conformance/harness.ts';
import { ownCluster, startTestCluster, type TestCluster } from './cluster.ts';
import { buildImage, contextOf } from './engine-harness.ts';
import { startTcpProxy, type TcpProxy } from './cut-proxy.ts';

export const clusterPlatform: Platform = {
  // restartPolicy Never.
  restarts: false,
  limitsPids: false,
  followsAccounts: false,
  // The project's nodes have cgroup v1; kubelets with v2 take the whole container.
  memoryEnds: ownCluster ? 'process' : 'sandbox',
  setuidGains: true,
  // Kubelets measure every ten seconds or so.
  diskNoticeMs: 90_000,
};

export interface ClusterHarness extends Harness {
  readonly cluster: TestCluster;
  readonly config: KubernetesConfig;
  /** Before the API server, as `driver` sees it. */
  readonly proxy: TcpProxy;
  /** A driver of its own with another configuration, closed with the harness. */
  withConfig(change: Partial<KubernetesConfig>, proxied?: boolean): SandboxDriver;
}

/** `name`: of a namespace that only this harness uses. */
export async function clusterHarness(name: string): Promise<ClusterHarness> {
  const cluster = await startTestCluster();
  const namespace = await cluster.namespace(name);
  const given = cluster.config(namespace.name);
  // The nodes are small, and what the suite asks for is a limit and not a need.
  const config = { ...given, placeSec: 60, pod: { ...given.pod, requestedCpus: 0.05 } };
  const dir = await mkdtemp(join(tmpdir(), 'passband-cluster-'));
  const proxy = await startTcpProxy(addressOf(cluster.kubeconfig));
  const kubeconfig = join(dir, 'kubeconfig');
  await writeFile(kubeconfig, proxiedConfig(cluster.kubeconfig, proxy.port));
  const drivers: SandboxDriver[] = [];
  const open = (given: KubernetesConfig): SandboxDriver => {
    const driver = createKubernetesDriver(given, process.env);
    drivers.push(driver);
    return driver;
  };
  const driver = open({ ...config, kubeconfig });
  const otherDriver = open(config);
  const core = cluster.client.makeApiClient(CoreV1Api);
  const images = new Map<ImageKind, Promise<Image>>();
  const image = (kind: ImageKind): Promise<Image> => {
    const known = images.get(kind) ?? buildImage(otherDriver, `conf-${kind}`, contextOf(kind));
    images.set(kind, known);
    return known;
  };
  // By force its container would go on for a moment, when it is there no more.
  const remove = async (name: string): Promise<void> => {
    const pod = { name, namespace: namespace.name };
    await core.deleteNamespacedPod({ ...pod, gracePeriodSeconds: 1 });
    for (;;) {
      const { items } = await core.listNamespacedPod({
        namespace: pod.namespace,
        fieldSelector: `metadata.name=${name}`,
      });
      if (items.length === 0) return;
      await sleep(100);
    }
  };
  return {
    cluster,
    config,
    driver,
    otherDriver,
    image,
    proxy,
    withConfig: (change, proxied = false) =>
      open({ ...config, ...(proxied ? { kubeconfig } : {}), ...change }),
    outside: {
      cut: (afterBytes) => {
        if (afterBytes === undefined) proxy.cut();
        else proxy.cutAfter(afterBytes);
      },
      kill: async (pod) => {
        const { spec, status } = await core.readNamespacedPod({ name: pod, namespace: namespace.name });
        const id = status?.containerStatuses?.[0]?.containerID ?? '';
        await cluster.node(spec?.nodeName ?? '').killContainer(id);
      },
      delete: remove,
      restart: null,
      replace: async (pod) => {
        await remove(pod);
        const { reference, digest } = await image('busybox');
        const container = {
          name: 'other',
          image: `${reference}@${digest}`,
          command: ['/bin/busybox', 'true'],
        };
        const body = { metadata: { name: pod }, spec: { containers: [container] } };
        await core.createNamespacedPod({ namespace: namespace.name, body });
      },
      vanish: () => proxy.vanish(),
    },
    close: async () => {
      for (const one of drivers) await one.close();
      await proxy.close();
      await namespace.remove();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function load(file: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(file);
  return config;
}

function addressOf(kubeconfig: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(load(kubeconfig).getCurrentCluster()?.server ?? '');
  return { host: hostname, port: Number(port === '' ? 443 : port) };
}

/** The same, with the proxy's address: the server still shows its own certificate. */
function proxiedConfig(kubeconfig: string, port: number): string {
  const config = load(kubeconfig);
  config.clusters = config.clusters.map((cluster) => ({
    ...cluster,
    server: `https://127.0.0.1:${port}`,
    // A name that every API server's certificate has.
    tlsServerName: 'kubernetes.default.svc',
  }));
  return config.exportConfig();
}
