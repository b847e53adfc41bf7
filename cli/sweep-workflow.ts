// The workflow of a sweep as its command meets it: started or joined, told of the concurrency, followed.
import {
  ServiceError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  type Client,
} from '@temporalio/client';
import { WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from '@temporalio/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { InputError } from '../domain/errors.ts';
import {
  concurrencyLimit,
  setConcurrencyUpdate,
  sweepWorkflowId,
  taskQueue,
  type SweepInput,
} from '../workflows/messages.ts';
import type { SweepProgress } from '../workflows/reports.ts';
import { followSweep, serviceFault } from './follow.ts';
import type { ProgressView } from './progress.ts';
import type { Session } from './session.ts';
import type { StoredPlan } from './sweep-plan.ts';
import type { WorkerProcess } from './worker-process.ts';

/** Between two tries of an update that the workflow does not listen to yet. */
const listensYetMs = 500;

/**
 * Starts the workflow, or joins the one that runs; an ended sweep is gone through again for what is missing.
 * @throws InputError (exit 69) where the server answers and starts nothing.
 */
export async function startWorkflow(
  { client, address }: Pick<Session, 'client' | 'address'>,
  input: SweepInput,
): Promise<void> {
  try {
    await client.workflow.start('sweep', {
      workflowId: sweepWorkflowId(input.sweep),
      taskQueue,
      args: [input],
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new InputError(
      `the Temporal server at ${address} started no workflow (${serviceFault(error)}): see its log`,
      69,
    );
  }
}

/** The SDK's own words where a workflow has not come to its handlers: it reads its plan, or proves its egress. */
const isNotListening = (why: string): boolean => why.startsWith('No registered handler for update');

/**
 * Tells a workflow that ran before of this command's concurrency; a new one has read it with its settings. Asks until
 * the workflow listens, or `signal` aborts.
 */
export async function tellConcurrency(
  client: Client,
  { sweep, concurrency }: { readonly sweep: string; readonly concurrency: number },
  { signal, say }: { readonly signal: AbortSignal; readonly say: (line: string) => void },
): Promise<void> {
  const handle = client.workflow.getHandle(sweepWorkflowId(sweep));
  const args: [number] = [Math.min(concurrency, concurrencyLimit)];
  for (;;) {
    try {
      await client.withAbortSignal(signal, () => handle.executeUpdate(setConcurrencyUpdate, { args }));
      return;
    } catch (error) {
      // Where nobody waits for the answer any more the settings say it, and an ended sweep has nothing to be told.
      if (signal.aborted || error instanceof WorkflowNotFoundError) return;
      const refused = error instanceof WorkflowUpdateFailedError ? (error.cause ?? error) : error;
      const why = refused instanceof Error ? refused.message : String(refused);
      if (!isNotListening(why)) {
        say(`the sweep that runs was not told of concurrency ${concurrency}: ${why}`);
        return;
      }
    }
    const waited = await sleep(listensYetMs, true, { signal }).catch(() => false);
    if (!waited) return;
  }
}

/** Follows a started workflow to its end, the worker's end or the operator's. */
export async function followWorkflow(
  client: Client,
  { plan, resumed }: StoredPlan,
  {
    worker,
    concurrency,
    view,
    signal,
  }: {
    readonly worker: WorkerProcess | null;
    readonly concurrency: number;
    readonly view: ProgressView;
    readonly signal: AbortSignal;
  },
): Promise<SweepProgress | null> {
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const telling = resumed
    ? tellConcurrency(client, { sweep: plan.sweep, concurrency }, { signal: stop, say: view.say })
    : null;
  const following = followSweep(client, plan.sweep, view, stop);
  try {
    return await (worker === null ? following : Promise.race([following, worker.failed]));
  } finally {
    over.abort();
    await Promise.allSettled([following, telling]);
  }
}
