// Whether the namespace of trials would take a pod of ours: asked of the API server's admission, and nothing is made.
import { z } from 'zod';
import { defaultLimits } from '../domain/task.ts';
import type { SandboxSpec } from '../sandbox/port.ts';
import type { Client } from './client.ts';
import type { KubernetesConfig } from './config.ts';
import { QuotaExceeded } from './kube-errors.ts';
import { podOf } from './pod-spec.ts';
import { Pods } from './pods.ts';

/** A trial with our defaults. */
const spec: SandboxSpec = {
  name: 'passband-doctor',
  image: { reference: 'registry.invalid/doctor:none', digest: `sha256:${'0'.repeat(64)}` },
  labels: {},
  cpus: defaultLimits.cpus,
  memoryMiB: defaultLimits.memoryMiB,
  diskMiB: defaultLimits.diskMiB,
  pids: defaultLimits.pids,
  env: {},
  workdir: null,
  network: 'deny',
  baseline: false,
  lifetimeSec: 60,
};

/**
 * What the admission says of a trial's pod, in words. A quota that is used up just now is no refusal: trials wait for it.
 * @throws what the API server refuses it with: the namespace, its Pod Security level, a class or a label of the file.
 */
export async function tryPod(client: Client, config: KubernetesConfig): Promise<string> {
  const { path } = new Pods(client, config.namespace);
  const image = { user: '', workdir: '/', entrypoint: [], env: {}, volumes: [] };
  const body = podOf({ spec, image, config: config.pod, owner: null, userNamespaces: false });
  try {
    const query = { dryRun: 'All' };
    await client.call({ what: 'trying a pod', method: 'POST', path, query, body }, z.unknown());
    return `${config.namespace} takes pods of trials`;
  } catch (error) {
    if (!(error instanceof QuotaExceeded)) throw error;
    return `${config.namespace} takes pods of trials, and has no quota left just now: they wait`;
  }
}
