// The worker as a process: configuration, log, store and driver put together, until it is asked to stop.
import { openStore } from '../store/open.ts';
import { readWorkerConfig, type Variable } from './config.ts';
import { openDriver } from './drivers.ts';
import { createLogger } from './logger.ts';
import { runWorker } from './run.ts';
import { listenForStop } from './stop-request.ts';

export interface WorkerProcessOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Flags by the variable that each stands for. */
  readonly flags?: Readonly<Partial<Record<Variable, string>>>;
  /** Ends with its stdin too, so that it cannot outlive a parent that holds the other end. */
  readonly untilStdinEnds: boolean;
}

/**
 * Works until SIGTERM, SIGINT or, where asked for, the end of stdin; then drains.
 * @throws InputError for configuration (exit 78, the driver's file too) and for a Temporal server, store or engine that is
 * not there.
 */
export async function work({ env, flags = {}, untilStdinEnds }: WorkerProcessOptions): Promise<void> {
  const config = readWorkerConfig(env, flags);
  const log = createLogger({ level: config.logLevel, env });
  const driver = await openDriver(config, env);
  const store = await openStore(config.storeUrl, env);
  // Last: from here on an open stdin keeps the process alive until it is disposed of.
  const request = listenForStop(untilStdinEnds ? process.stdin : null);
  try {
    await runWorker({ config, store, driver, env, log, stop: request.signal });
  } finally {
    request.dispose();
    await driver.close();
    await store.close();
  }
}
