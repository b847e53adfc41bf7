// Bundles the workflows for the isolated context that a worker runs them in: their code, the domain, and nothing of zod.
import { bundleWorkflowCode, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';

const workflowsPath = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));

/** Takes about a second. */
export async function bundleWorkflows(): Promise<WorkflowBundleWithSourceMap> {
  const quiet = (): void => {};
  return await bundleWorkflowCode({
    workflowsPath,
    // The bundler tells its progress at info; what goes wrong is thrown.
    logger: { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
}
