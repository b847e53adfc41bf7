// A scene whose commands make their sandboxes in a namespace of the test's cluster, and what is there and left of them.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { KubernetesConfig } from '../../k8s/config.ts';
import { startTestCluster, type TestCluster } from './cluster.ts';
import { openScene, type Scene } from './passband.ts';

const PodSchema = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.object({ nodeName: z.string().optional() }),
});
export type ScenePod = z.infer<typeof PodSchema>;

const ListSchema = z.object({ items: z.array(PodSchema) });
const NamesSchema = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

/** What every namespace of trials has, whatever runs in it. */
const standing: ReadonlySet<string> = new Set([
  ...['configmaps/kube-root-ca.crt', 'networkpolicies/passband-deny-all', 'networkpolicies/passband-canary'],
]);

export interface ClusterScene extends Scene {
  readonly cluster: TestCluster;
  readonly namespace: string;
  /** Of every command that is to use this cluster. */
  readonly flags: readonly string[];
  readonly kubectl: TestCluster['kubectl'];
  pods(): Promise<readonly ScenePod[]>;
  /** A label selector that only the trial of this pod has. */
  mark(pod: ScenePod | undefined): string;
  /** Everything in the namespace that a sweep may have made, `KIND/NAME`. */
  left(): Promise<readonly string[]>;
}

/** `name`: of a namespace that only this scene uses. */
export async function openClusterScene(
  name: string,
  change: (config: KubernetesConfig) => KubernetesConfig = (config) => config,
): Promise<ClusterScene> {
  const cluster = await startTestCluster();
  const namespace = await cluster.namespace(name);
  const scene = await openScene();
  const file = path.join(scene.dir, 'kubernetes.yaml');
  const given = cluster.config(name);
  // The nodes are small, and what a task names is a limit and not a need.
  const config = { ...given, pod: { ...given.pod, requestedCpus: 0.05 } };
  await writeFile(file, stringify(change(config)));
  const listed = (kind: string): Promise<string> => cluster.kubectl('-n', name, 'get', kind, '-o', 'json');
  return {
    ...scene,
    cluster,
    namespace: name,
    flags: ['--sandbox', 'kubernetes', '--kubernetes', file],
    kubectl: (...args) => cluster.kubectl(...args),
    pods: async () => ListSchema.parse(JSON.parse(await listed('pods'))).items,
    mark: (pod) => {
      const key = 'passband.generation';
      return `${key}=${pod?.metadata.labels[key] ?? 'none'}`;
    },
    left: async () => {
      const kinds = ['pods', 'configmaps', 'secrets', 'networkpolicies'];
      const names = await Promise.all(
        kinds.map(async (kind) =>
          NamesSchema.parse(JSON.parse(await listed(kind))).items.map(
            ({ metadata }) => `${kind}/${metadata.name}`,
          ),
        ),
      );
      return names.flat().filter((one) => !standing.has(one));
    },
    close: async () => {
      await scene.close();
      await namespace.remove();
    },
  };
}
