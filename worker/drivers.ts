// Which driver a configuration names, and what each cannot run: the one place that knows them all.
import type { Task } from '../domain/task.ts';
import type { ClusterFinding } from '../k8s/cluster-finding.ts';
import type { ExamineOptions } from '../k8s/examine.ts';
import { readKubernetesConfig } from '../k8s/read-config.ts';
import { kubernetesLacks } from '../k8s/unsupported.ts';
import { createEngineDriver } from '../sandbox/engine/driver.ts';
import { parseEndpoint } from '../sandbox/engine/endpoint.ts';
import { engineLacks } from '../sandbox/engine/unsupported.ts';
import type { SandboxDriver } from '../sandbox/port.ts';

export { readKubernetesConfig };

export type DriverName = SandboxDriver['name'];

export type DriverChoice =
  | {
      readonly sandbox: 'engine';
      /** Where the engine answers. */
      readonly engine: string;
    }
  | {
      readonly sandbox: 'kubernetes';
      /** The file of k8s/config.ts; null: nobody named one. */
      readonly kubernetes: string | null;
    };

/** @throws InputError where the engine's address is none, or (exit 78) the cluster's file does not say enough. */
export async function openDriver(choice: DriverChoice, env: NodeJS.ProcessEnv): Promise<SandboxDriver> {
  switch (choice.sandbox) {
    case 'engine':
      return createEngineDriver(parseEndpoint(choice.engine, env['DOCKER_CERT_PATH'] ?? null));
    case 'kubernetes': {
      const config = await readKubernetesConfig(choice.kubernetes);
      // The cluster's client takes longer to load than most commands to run.
      const { createKubernetesDriver } = await import('../k8s/driver.ts');
      return createKubernetesDriver(config, env);
    }
  }
}

/** @throws InputError, and what `check` throws, where the driver cannot be used now. */
export async function checkDriver(choice: DriverChoice, env: NodeJS.ProcessEnv): Promise<void> {
  const driver = await openDriver(choice, env);
  try {
    await driver.check();
  } finally {
    await driver.close();
  }
}

/** What a cluster, and what goes with it, has and lacks for grading. A part that does not answer is a finding. */
export async function examineCluster(
  file: string | null,
  options: ExamineOptions,
): Promise<readonly ClusterFinding[]> {
  const { examine } = await import('../k8s/examine.ts');
  return await examine(file, options);
}

/** Why a driver cannot run a task, by the names of what it lacks: asked before there is an engine or a cluster. */
export function lacksOf(
  sandbox: DriverName,
): (task: Pick<Task, 'needs' | 'networkMode'>, network: 'deny' | 'as-declared') => readonly string[] {
  return sandbox === 'engine' ? engineLacks : kubernetesLacks;
}
