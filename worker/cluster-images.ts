// Images of a cluster's registry without a worker: what `passband images` builds and pushes.
import type { Task } from '../domain/task.ts';
import { readKubernetesConfig } from '../k8s/read-config.ts';
import { kubernetesLacks } from '../k8s/unsupported.ts';
import type { BaseRequest } from '../sandbox/images/base-request.ts';
import type { ImageBuilder } from '../sandbox/port.ts';

export interface ClusterImages extends ImageBuilder {
  /** Ends what is being built. */
  close(): void;
}

/**
 * The builder of the driver's file; `onPush` is told of each image that it pushes.
 * @throws InputError (exit 78) where the file does not say enough
 */
export async function openClusterImages(
  file: string | null,
  env: NodeJS.ProcessEnv,
  onPush: (reference: string) => void,
): Promise<ClusterImages> {
  const config = await readKubernetesConfig(file);
  const { KubernetesImages } = await import('../k8s/images/images.ts');
  return new KubernetesImages(config, env, onPush);
}

/** Why no image of a task is of use on a cluster, by the names of what it lacks. */
export const clusterLacks = (task: Task): readonly string[] => kubernetesLacks(task, 'deny');

/** Pushes a base image of this machine; the reference that FROM now finds, by digest. Throws as `pushBase` does. */
export async function pushClusterBase(
  file: string | null,
  request: BaseRequest,
  {
    env,
    say,
    signal,
  }: {
    readonly env: NodeJS.ProcessEnv;
    readonly say: (line: string) => void;
    readonly signal?: AbortSignal;
  },
): Promise<string> {
  const config = await readKubernetesConfig(file);
  const { pushBase } = await import('../k8s/images/base-push.ts');
  return await pushBase(request, { config, env, say }, signal);
}
