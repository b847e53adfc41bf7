// A proxy before the cluster's API server, and the kubeconfig of whoever is to go through it.
import { writeFile } from 'node:fs/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { createClient } from '../../k8s/client.ts';
import { HttpProxy } from './http-proxy.ts';

/** Its clients speak plain HTTP with the tokens of the kubeconfig; the proxy checks the server's certificate. */
export async function startPlatformProxy(kubeconfig: string, file: string): Promise<HttpProxy> {
  const client = createClient({ kubeconfig }, {});
  const { ca, cert, key } = await client.credentials();
  const { hostname, port } = new URL(client.server);
  await client.close();
  const proxy = await HttpProxy.start({
    ...{ protocol: 'https:', host: hostname, port: Number(port === '' ? 443 : port) },
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    },
  });
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  config.clusters = config.clusters.map(({ name }) => ({ name, server: proxy.url, skipTLSVerify: true }));
  await writeFile(file, config.exportConfig());
  return proxy;
}
