// Runs one worker: polls the queue, performs activities and workflows, drains when it is told to stop.
import { NativeConnection, Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { createActivities } from '../activities/index.ts';
import { InputError } from '../domain/errors.ts';
import type { SandboxDriver } from '../sandbox/port.ts';
import type { Store } from '../store/port.ts';
import { readStoreId } from '../store/store-id.ts';
import { taskQueue } from '../workflows/messages.ts';
import { bundleWorkflows } from './bundle.ts';
import type { WorkerConfig } from './config.ts';
import { checkNamespace } from './namespace.ts';
import { startReaper } from './reaper.ts';
import { installRuntime } from './runtime.ts';
import { workflowStates } from './workflow-states.ts';

export interface WorkerParts {
  readonly config: WorkerConfig;
  readonly store: Store;
  readonly driver: SandboxDriver;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  /** Aborted: nothing new is taken, what runs gets the drain time, then goes to another worker. */
  readonly stop: AbortSignal;
}

/** Slots beside those of the sweep's trials, so that short activities do not wait behind episodes. */
const spareSlots = 8;

/** What a worker is made with, whatever its connection and its activities. */
export async function workerOptions(
  config: Pick<WorkerConfig, 'namespace' | 'concurrency' | 'cachedWorkflows' | 'drainMs'>,
) {
  return {
    namespace: config.namespace,
    taskQueue,
    workflowBundle: await bundleWorkflows(),
    maxConcurrentActivityTaskExecutions: config.concurrency + spareSlots,
    maxCachedWorkflows: config.cachedWorkflows,
    shutdownGraceTime: config.drainMs,
    shutdownForceTime: 2 * config.drainMs,
  };
}

/**
 * Polls until `stop` is aborted and everything is drained.
 * @throws InputError (exit 69) where no Temporal server answers or it has no such namespace, ClassifiedError where store or driver do not.
 */
export async function runWorker({ config, store, driver, env, log, stop }: WorkerParts): Promise<void> {
  await store.check();
  const platform = await driver.check();
  // Not before: a runtime that has never had a connection keeps its process alive.
  installRuntime(log);
  const connection = await connect(config);
  const now = (): Date => new Date();
  try {
    const worker = await Worker.create({
      ...(await workerOptions(config)),
      connection,
      activities: createActivities({ store, driver, env, log, now, concurrency: config.concurrency }),
    });
    const shutDown = (): void => {
      log.info({ drainMs: config.drainMs }, 'worker drains');
      if (worker.getState() === 'RUNNING') worker.shutdown();
    };
    const started = performance.now();
    log.info(
      { temporal: config.temporalAddress, store: store.url, driver: driver.name, ...platform, taskQueue },
      'worker listens',
    );
    const running = worker.run();
    const stateOf = workflowStates(connection, config.namespace);
    const reaper = startReaper({ driver, storeId: () => readStoreId(store), stateOf, log, now });
    if (stop.aborted) shutDown();
    else stop.addEventListener('abort', shutDown, { once: true });
    try {
      await running;
    } finally {
      await reaper.stop();
    }
    log.info({ upMs: Math.round(performance.now() - started) }, 'worker ended');
  } finally {
    await connection.close();
  }
}

async function connect({
  temporalAddress: address,
  namespace,
}: Pick<WorkerConfig, 'temporalAddress' | 'namespace'>): Promise<NativeConnection> {
  let connection: NativeConnection | null = null;
  try {
    connection = await NativeConnection.connect({ address });
    await checkNamespace(connection.workflowService, address, namespace);
    return connection;
  } catch (error) {
    await connection?.close();
    if (error instanceof InputError) throw error;
    const why = error instanceof Error ? (error.message.trim().split('\n')[0] ?? '') : String(error);
    throw new InputError(
      `no Temporal server answers at ${address} (${why}): start it, or name another with --temporal or PASSBAND_TEMPORAL_ADDRESS`,
      69,
    );
  }
}
