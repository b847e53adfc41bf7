// Whether a workflow runs, asked of the Temporal server that the worker is connected to.
import { Client, WorkflowNotFoundError } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';

/** `unknown`: the server has no such workflow, or has forgotten it after its retention. */
export type WorkflowState = 'running' | 'closed' | 'unknown';

export function workflowStates(
  connection: NativeConnection,
  namespace: string,
): (workflow: string) => Promise<WorkflowState> {
  const client = new Client({ connection, namespace });
  return async (workflow) => {
    try {
      const { status } = await client.workflow.getHandle(workflow).describe();
      return status.name === 'RUNNING' ? 'running' : 'closed';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'unknown';
      throw error;
    }
  };
}
