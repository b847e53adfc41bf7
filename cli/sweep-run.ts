// Grades a sweep: plan, settings, session, workflow, progress, results. `sweep start`, `audit` and `demo` are this.
import { ClassifiedError, InputError } from '../domain/errors.ts';
import type { Plan } from '../domain/sweep.ts';
import type { KnownRateServer } from '../instruments/known-rate/server.ts';
import type { Store } from '../store/port.ts';
import { readStoreId } from '../store/store-id.ts';
import { hasRefusals } from '../store/verdicts.ts';
import { readKubernetesConfig } from '../worker/drivers.ts';
import { concurrencyLimit } from '../workflows/messages.ts';
import type { SweepProgress } from '../workflows/reports.ts';
import { stoppedError } from './follow.ts';
import { onInterrupt, onInterrupts, type StagedInterrupt } from './interrupt.ts';
import { ownKnownRates, serveKnownRates } from './known-rate.ts';
import { exitCodes, note } from './output.ts';
import { makePlan, readRequestedTasks } from './plan.ts';
import { progressView, type ProgressView } from './progress.ts';
import { readSummary } from './results.ts';
import { kubernetesFile } from './sandbox-option.ts';
import { endSession } from './session-end.ts';
import { checkTemporal, embeddedAddress, openSession } from './session.ts';
import { commandText } from './store-option.ts';
import { isComplete, summarise, type SweepSummary } from './summary.ts';
import { announcement, completeLine } from './sweep-lines.ts';
import { checkModels } from './sweep-models.ts';
import { checkSeed, keepPlan, putSettings, putSplits, standingPlan, type StoredPlan } from './sweep-plan.ts';
import type { SweepRequest } from './sweep-request.ts';
import { followWorkflow, startWorkflow, tellConcurrency } from './sweep-workflow.ts';

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
  readonly plan: Pick<StoredPlan, 'plan'>;
  readonly summary: SweepSummary;
  /** The failure that stopped it; null where none did. */
  readonly stopped: ClassifiedError | null;
  readonly interrupted: boolean;
}

/** How long a command that does not follow waits for a worker to hear of its concurrency. */
const detachedWaitMs = 5_000;

interface RunContext {
  readonly options: RunOptions;
  readonly view: ProgressView;
  readonly signal: AbortSignal;
  /** The second interrupt: nothing is waited for. */
  readonly hurry: AbortSignal;
}

/** What a sweep has come to of which nothing is left to do: no trials, no tasks that were refused for now; else null. */
async function resultAlready(store: Store, { plan }: StoredPlan): Promise<SweepSummary | null> {
  if (await hasRefusals(store, plan.sweep)) return null;
  const summary = await readSummary(store, plan.sweep);
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

/** The failure with a class that stopped the work; null where none did. */
async function failureOf(work: () => Promise<void>): Promise<ClassifiedError | null> {
  try {
    await work();
    return null;
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
 * Grades what a request asks for and follows to the end. What stops it once it is planned stands in its end. Nothing is
 * written of a start that is refused: another command may be running the same sweep.
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

/** What was asked for, held against what stands: nothing of it is written yet. */
interface Asked {
  readonly request: SweepRequest;
  readonly plan: Plan;
  /** The plan stands under its name. */
  readonly stands: boolean;
  /** Known-rate models that this process serves. */
  readonly own: readonly string[];
}

async function planAndGrade(request: SweepRequest, store: Store, context: RunContext): Promise<RunEnd> {
  const { options, view, signal } = context;
  await store.check();
  const set = await readRequestedTasks(request, options.env);
  const own = ownKnownRates(request.models, request.tasks, options.temporal);
  if (options.temporal !== null) await checkTemporal(options.temporal, options.namespace);
  // Its packages are content: one that no plan names is nobody's.
  const plan = await makePlan(request, set, store);
  const { sweep } = plan;
  const standing = await standingPlan(store, plan);
  if (own.length > 0) await checkSeed(store, sweep, options.seed);
  const over = { plan: { plan: standing?.plan ?? plan }, stopped: null, interrupted: false };
  if (plan.tasks.length === 0) {
    const { resumed } = await keepPlan(store, plan);
    view.say(announcement(plan, options.gatesOnly, resumed));
    return { ...over, summary: await readSummary(store, sweep) };
  }
  const already = options.gatesOnly || standing === null ? null : await resultAlready(store, standing);
  if (already !== null) {
    if (options.splits !== null) await putSplits(store, sweep, options.splits);
    view.say(completeLine(already, options.detach));
    return { ...over, summary: already };
  }
  const refused = options.gatesOnly ? null : await failureOf(() => askModels(request, plan, options));
  if (refused !== null) {
    const summary =
      standing === null ? summarise(plan, new Map(), [], []) : await summaryDespite(refused, store, sweep);
    return { ...over, summary, stopped: refused };
  }
  const stopped = await failureOf(async () => {
    const stop = (await execute({ request, plan, stands: standing !== null, own }, store, context))?.stopped;
    if (stop?.failureClass) throw stoppedError(stop.failureClass, stop.line);
  });
  const summary = await summaryDespite(stopped, store, sweep);
  return { ...over, summary, stopped, interrupted: signal.aborted };
}

/** @throws ClassifiedError where a model is not to be had. */
async function askModels(request: SweepRequest, { scaffolds }: Plan, { env }: RunOptions): Promise<void> {
  const away = await checkModels(request.models, scaffolds, env);
  for (const line of away) note(`${line}: the sweep begins without it`);
}

/** Runs the workflow of a plan in a session of its own, and ends what it started for it. */
async function execute(asked: Asked, store: Store, context: RunContext): Promise<SweepProgress | null> {
  const { options, view, signal, hurry } = context;
  const { request } = asked;
  checkNotInterrupted(signal);
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
  }).catch(async (error: unknown) => {
    throw (await unjoinable(error, asked, options)) ?? error;
  });
  const { plan, storeId, knownRates } = await begin(asked, store, context).catch(async (error: unknown) => {
    await session
      .stop()
      .catch((fault: unknown) => view.say(`not everything that was started has ended: ${String(fault)}`));
    throw error;
  });
  const { sweep } = plan.plan;
  const { concurrency, budget } = request;
  const worker = session.startWorker();
  try {
    if (signal.aborted) return null;
    await startWorkflow(session, {
      sweep,
      plan: plan.ref,
      gatesOnly: options.gatesOnly,
      ...(budget === null ? {} : { deadlineMs: Date.now() + budget.wall_hours * 3_600_000 }),
      carried: null,
    });
    if (!options.detach) {
      return await followWorkflow(session.client, plan, { worker, concurrency, view, signal });
    }
    if (plan.resumed) {
      const within = { signal: AbortSignal.timeout(detachedWaitMs), say: view.say };
      await tellConcurrency(session.client, { sweep, concurrency }, within);
    }
    return null;
  } finally {
    await endSession({ ...session, worker }, { store, storeId, sweep, hurry, say: view.say });
    await knownRates?.close();
  }
}

interface Begun {
  readonly plan: StoredPlan;
  readonly storeId: string;
  readonly knownRates: KnownRateServer | null;
}

/** Writes plan and settings: the server is ours or answers, so nothing refuses this start, and no worker of ours reads them yet. */
async function begin(
  { request, plan: asked, own }: Asked,
  store: Store,
  { options, view, signal }: RunContext,
): Promise<Begun> {
  const knownRates = await serveKnownRates(own, request.tasks, options.seed);
  try {
    checkNotInterrupted(signal);
    const plan = await keepPlan(store, asked);
    await putSettings(store, asked.sweep, request, {
      knownRateUrl: knownRates?.url ?? null,
      seed: options.seed,
      splits: options.splits,
    });
    view.say(announcement(plan.plan, options.gatesOnly, plan.resumed));
    if (request.concurrency > concurrencyLimit)
      view.say(
        `concurrency ${request.concurrency} is more than a sweep takes: ${concurrencyLimit} run at once`,
      );
    return { plan, storeId: await readStoreId(store), knownRates };
  } catch (error) {
    await knownRates?.close();
    throw error;
  }
}

/** @throws InputError (exit 130) */
function checkNotInterrupted(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw new InputError(
    'interrupted: nothing was started; the same command starts again',
    exitCodes.interrupted,
  );
}

/** What to do where another command runs the server that this one wanted, and its models cannot join it there; else null. */
async function unjoinable(
  error: unknown,
  { plan, stands, own }: Asked,
  { temporal, storeUrl }: RunOptions,
): Promise<InputError | null> {
  if (!(error instanceof InputError) || temporal !== null || own.length === 0) return null;
  const address = await embeddedAddress(storeUrl);
  if (address === null) return null;
  const watch = commandText(`sweep watch ${plan.sweep}`, { store: storeUrl });
  const mend = stands ? `where it grades this sweep, ${watch} follows it; else wait` : 'wait';
  return new InputError(
    `another command runs the embedded Temporal server of this store (${address}), and its worker does not reach ${own.join(', ')} in this process: ${mend} for its end, or give another --store`,
    exitCodes.unavailable,
  );
}
