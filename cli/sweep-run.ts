// Grades a sweep: plan, settings, session, workflow, progress, results. `sweep start`, `audit` and `demo` are this.
import { ServiceError, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from '@temporalio/common';
import { ClassifiedError, InputError } from '../domain/errors.ts';
import { countTrials, shapeOf, type Plan } from '../domain/sweep.ts';
import type { Store } from '../store/port.ts';
import { hasRefusals } from '../store/verdicts.ts';
import { readKubernetesConfig } from '../worker/drivers.ts';
import {
  concurrencyLimit,
  setConcurrencyUpdate,
  sweepWorkflowId,
  taskQueue,
  type SweepInput,
} from '../workflows/messages.ts';
import type { SweepProgress } from '../workflows/reports.ts';
import { followSweep, stoppedError } from './follow.ts';
import { onInterrupt, onInterrupts, type StagedInterrupt } from './interrupt.ts';
import { serveKnownRates } from './known-rate.ts';
import { makePlan, readRequestedTasks } from './plan.ts';
import { progressView, type ProgressView } from './progress.ts';
import { exitCodes, note } from './output.ts';
import { readStoreId } from '../store/store-id.ts';
import { readSummary } from './results.ts';
import { endSession } from './session-end.ts';
import { checkTemporal, openSession, type Session } from './session.ts';
import type { SweepSummary } from './summary.ts';
import { kubernetesFile } from './sandbox-option.ts';
import { checkModels } from './sweep-models.ts';
import { keepPlan, putSettings, type StoredPlan } from './sweep-plan.ts';
import type { SweepRequest } from './sweep-request.ts';

export interface RunOptions {
  readonly temporal: string | null;
  readonly namespace: string;
  readonly engine: string | null;
  readonly storeUrl: string;
  readonly seed: number;
  /** Split of each task; null: those of the start before stay. */
  readonly splits: ReadonlyMap<string, string> | null;
  /** Start it, and do not follow. */
  readonly detach: boolean;
  /** The gates alone. */
  readonly gatesOnly: boolean;
  readonly env: NodeJS.ProcessEnv;
}

export interface RunEnd {
  readonly plan: StoredPlan;
  readonly summary: SweepSummary;
  /** The failure that stopped it; null where none did. */
  readonly stopped: ClassifiedError | null;
  readonly interrupted: boolean;
}

/** How long a command that does not follow waits for a worker to hear of its concurrency. */
const detachedWaitMs = 5_000;

/**
 * Starts the workflow, or joins the one that runs; an ended sweep is gone through again for what is missing.
 * @throws InputError (exit 69) where the server answers and starts nothing.
 */
async function startWorkflow({ client, address }: Session, input: SweepInput): Promise<void> {
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
    const why = error.cause instanceof Error ? error.cause.message.split('\n')[0] : undefined;
    throw new InputError(
      `the Temporal server at ${address} started no workflow (${why ?? error.message}): see its log`,
      69,
    );
  }
}

/** Tells a workflow that ran before of this command's concurrency; a new one has read it with its settings. */
async function tellConcurrency(
  { client }: Session,
  { sweep, concurrency }: { readonly sweep: string; readonly concurrency: number },
  { signal, say }: { readonly signal: AbortSignal; readonly say: (line: string) => void },
): Promise<void> {
  const handle = client.workflow.getHandle(sweepWorkflowId(sweep));
  try {
    await client.withAbortSignal(signal, () =>
      handle.executeUpdate(setConcurrencyUpdate, { args: [Math.min(concurrency, concurrencyLimit)] }),
    );
  } catch (error) {
    // Where nobody waits for the answer any more the settings say it, and an ended sweep has nothing to be told.
    if (signal.aborted || error instanceof WorkflowNotFoundError) return;
    const refused = error instanceof WorkflowUpdateFailedError ? (error.cause ?? error) : error;
    const why = refused instanceof Error ? refused.message : String(refused);
    say(`the sweep that runs was not told of concurrency ${concurrency}: ${why}`);
  }
}

/** Follows a started workflow to its end, the worker's end or the operator's. */
async function follow(
  session: Session,
  { plan, resumed }: StoredPlan,
  concurrency: number,
  { view, signal }: Pick<RunContext, 'view' | 'signal'>,
): Promise<SweepProgress | null> {
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const telling = resumed
    ? tellConcurrency(session, { sweep: plan.sweep, concurrency }, { signal: stop, say: view.say })
    : null;
  const following = followSweep(session.client, plan.sweep, view, stop);
  try {
    return await (session.worker === null ? following : Promise.race([following, session.worker.failed]));
  } finally {
    over.abort();
    await Promise.allSettled([following, telling]);
  }
}

/** Whether nothing of a sweep is left to be graded. */
const isComplete = (summary: SweepSummary): boolean =>
  summary.planned > 0 && summary.counted === summary.planned;

/** Runs the workflow of a kept plan in a session of its own, and ends what it started for it. */
async function execute(
  request: SweepRequest,
  plan: StoredPlan,
  store: Store,
  context: RunContext,
): Promise<SweepProgress | null> {
  const { options, view, signal, hurry } = context;
  const { sweep } = plan.plan;
  const storeId = await readStoreId(store);
  const session = await openSession({
    temporal: options.temporal,
    namespace: options.namespace,
    store: options.storeUrl,
    sandbox: request.sandbox,
    engine: options.engine,
    kubernetes: kubernetesFile(request.kubernetes, options.env),
    concurrency: request.concurrency,
    env: options.env,
    say: view.say,
  });
  try {
    if (signal.aborted) return null;
    await startWorkflow(session, {
      sweep,
      plan: plan.ref,
      gatesOnly: options.gatesOnly,
      ...(request.budget === null ? {} : { deadlineMs: Date.now() + request.budget.wall_hours * 3_600_000 }),
      carried: null,
    });
    if (!options.detach) return await follow(session, plan, request.concurrency, context);
    if (plan.resumed)
      await tellConcurrency(
        session,
        { sweep, concurrency: request.concurrency },
        { signal: AbortSignal.timeout(detachedWaitMs), say: view.say },
      );
    return null;
  } finally {
    await endSession(session, { store, storeId, sweep, hurry, say: view.say });
  }
}

interface RunContext {
  readonly options: RunOptions;
  readonly view: ProgressView;
  readonly signal: AbortSignal;
  /** The second interrupt: nothing is waited for. */
  readonly hurry: AbortSignal;
}

function announce(plan: Plan, options: RunOptions, resumed: boolean): string {
  const what = options.gatesOnly
    ? `audit ${plan.sweep}: `
    : `sweep ${plan.sweep}: ${countTrials(shapeOf(plan))} trials of `;
  return `${what}${plan.tasks.length} tasks planned, ${plan.rejected.length} tasks rejected at reading${resumed ? ' (going on with it)' : ''}`;
}

/** The result that a sweep has already; null where something is left to do: trials, or tasks that were refused for now. */
async function resultAlready(store: Store, plan: StoredPlan): Promise<SweepSummary | null> {
  if (countTrials(shapeOf(plan.plan)) > 0 && !plan.resumed) return null;
  if (plan.resumed && (await hasRefusals(store, plan.plan.sweep))) return null;
  const summary = await readSummary(store, plan.plan.sweep);
  return summary.planned === 0 || isComplete(summary) ? summary : null;
}

/** Where its worker and its sandboxes are ours to end, that takes a while. */
function interruptOf(options: RunOptions, say: (line: string) => void): StagedInterrupt {
  if (options.temporal !== null) return { ...onInterrupt(), hurry: new AbortController().signal };
  return onInterrupts(
    {
      stopping:
        'stopping: trials in flight end and their sandboxes are removed (again: without waiting for them)',
      hurrying: 'stopping at once: the worker is ended and its sandboxes are removed (again: they are left)',
      leaving: 'left: sandboxes may still be there; the same command goes on with them',
    },
    say,
  );
}

/** What stopped a sweep: its own last word, or what was thrown on the way; null where nothing did. */
async function failureOf(grade: () => Promise<SweepProgress | null>): Promise<ClassifiedError | null> {
  try {
    const stop = (await grade())?.stopped;
    return stop?.failureClass ? stoppedError(stop.failureClass, stop.line) : null;
  } catch (error) {
    if (error instanceof ClassifiedError) return error;
    throw error;
  }
}

/** @throws what stopped the sweep, where the store cannot say any more what it came to. */
async function summaryDespite(
  stopped: ClassifiedError | null,
  store: Store,
  sweep: string,
): Promise<SweepSummary> {
  try {
    return await readSummary(store, sweep);
  } catch (error) {
    throw stopped ?? error;
  }
}

/**
 * Grades what a request asks for and follows to the end. What stops it once its plan is kept stands in its end.
 * @throws InputError, or ClassifiedError where it could not be planned.
 */
export async function runSweep(request: SweepRequest, store: Store, options: RunOptions): Promise<RunEnd> {
  const view = progressView();
  // With a server named, the configuration that counts is that of its workers.
  if (request.sandbox === 'kubernetes' && options.temporal === null) {
    await readKubernetesConfig(kubernetesFile(request.kubernetes, options.env));
  }
  const interrupt = interruptOf(options, view.say);
  try {
    return await planAndGrade(request, store, { options, view, ...interrupt });
  } finally {
    interrupt.off();
  }
}

async function planAndGrade(request: SweepRequest, store: Store, context: RunContext): Promise<RunEnd> {
  const { options, view, signal } = context;
  await store.check();
  const set = await readRequestedTasks(request, options.env);
  const knownRates = await serveKnownRates(request.models, request.tasks, options);
  try {
    // Before anything is written: what is refused leaves no plan.
    if (options.temporal !== null) await checkTemporal(options.temporal, options.namespace);
    if (signal.aborted) {
      throw new InputError(
        'interrupted: nothing was started; the same command starts again',
        exitCodes.interrupted,
      );
    }
    const plan = await keepPlan(store, await makePlan(request, set, store));
    const { sweep, scaffolds, tasks } = plan.plan;
    await putSettings(store, sweep, request, {
      knownRateUrl: knownRates?.url ?? null,
      seed: options.seed,
      splits: options.splits,
    });
    view.say(announce(plan.plan, options, plan.resumed));
    if (request.concurrency > concurrencyLimit)
      view.say(
        `concurrency ${request.concurrency} is more than a sweep takes: ${concurrencyLimit} run at once`,
      );
    const already = options.gatesOnly ? null : await resultAlready(store, plan);
    if (already !== null) return { plan, summary: already, stopped: null, interrupted: false };
    const stopped = await failureOf(async () => {
      if (!options.gatesOnly) {
        const away = await checkModels(request.models, knownRates?.url ?? null, scaffolds, options.env);
        for (const line of away) note(`${line}: the sweep begins without it`);
      }
      return tasks.length === 0 || signal.aborted ? null : await execute(request, plan, store, context);
    });
    return {
      plan,
      summary: await summaryDespite(stopped, store, sweep),
      stopped,
      interrupted: signal.aborted,
    };
  } finally {
    await knownRates?.close();
  }
}
