// What a sweep runs on: a Temporal server, a container engine or a cluster, a worker. Starts what is not there, and ends what it started.
import { Client, Connection } from '@temporalio/client';
import path from 'node:path';
import { InputError } from '../domain/errors.ts';
import { findEngine } from '../embedded/engine.ts';
import { readAddress } from '../embedded/temporal-lock.ts';
import { startTemporal } from '../embedded/temporal.ts';
import { checkDriver, type DriverChoice } from '../worker/drivers.ts';
import { checkNamespace } from '../worker/namespace.ts';
import { defaultStore } from './store-option.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

export interface SessionOptions {
  /** Address of a Temporal server; null: the embedded one, with its database beside the results. */
  readonly temporal: string | null;
  readonly namespace: string;
  /** The store's URL, handed to the worker. */
  readonly store: string;
  readonly sandbox: 'engine' | 'kubernetes';
  /** Where the engine answers; null: a usual place, or one that is started. */
  readonly engine: string | null;
  /** The Kubernetes driver's file; null: none is named. */
  readonly kubernetes: string | null;
  readonly concurrency: number;
  readonly env: NodeJS.ProcessEnv;
  readonly say: (line: string) => void;
}

export interface Session {
  readonly client: Client;
  /** Address of the Temporal server, for others to join. */
  readonly address: string;
  /**
   * Starts the worker, which reads a sweep's settings from then on; null where a server was named: its workers are
   * started by whoever runs it.
   */
  readonly startWorker: () => WorkerProcess | null;
  /** Where its worker makes sandboxes; null where a server was named: its workers have their own configuration. */
  readonly driver: DriverChoice | null;
  readonly stop: () => Promise<void>;
}

/** The folder of the embedded server's database: inside a store on disk, else beside the default one. */
function stateDir(store: string): string {
  const local = store.startsWith('file://') ? new URL(store).pathname : store;
  return path.resolve(local.includes('://') ? defaultStore : local, '.passband');
}

/** Address of the embedded server that runs for a store now; null where none does. */
export async function embeddedAddress(store: string): Promise<string | null> {
  return await readAddress(path.join(stateDir(store), 'temporal.lock'));
}

/** @throws InputError (exit 69) where no server answers there, or has no such namespace. */
export async function connectTemporal(address: string, namespace: string): Promise<Client> {
  let connection: Connection | null = null;
  try {
    connection = await Connection.connect({ address, connectTimeout: 5_000 });
    await checkNamespace(connection.workflowService, address, namespace);
    return new Client({ connection, namespace });
  } catch (error) {
    await connection?.close();
    if (error instanceof InputError) throw error;
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new InputError(
      `no Temporal server answers at ${address}, namespace ${namespace} (${why ?? ''}): check --temporal and --namespace, or leave --temporal out for the embedded one`,
      69,
    );
  }
}

/** @throws InputError as `connectTemporal` does. */
export async function checkTemporal(address: string, namespace: string): Promise<void> {
  const client = await connectTemporal(address, namespace);
  await client.connection.close();
}

/** Starts or joins everything but the worker. What was started before a failure is ended again. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const started: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    const faults: unknown[] = [];
    // Each is ended whatever the others come to.
    for (const end of started.splice(0).reverse()) await end().catch((error: unknown) => faults.push(error));
    if (faults.length > 0) throw faults[0];
  };
  try {
    const driver = options.temporal === null ? await findDriver(options, started) : null;
    const address = options.temporal ?? (await startServer(options, started));
    const client = await connectTemporal(address, options.namespace);
    started.push(async () => await client.connection.close());
    const startWorker = (): WorkerProcess | null => {
      if (driver === null) return null;
      const child = startWorkerProcess(
        workerArgs({ ...options, temporal: address }, driver),
        options.env,
        (why) => options.say(`the worker ended (${why}): another one goes on`),
      );
      started.push(() => child.stop());
      return child;
    };
    return { client, address, startWorker, driver, stop };
  } catch (error) {
    await stop().catch((fault: unknown) =>
      options.say(`not everything that was started has ended: ${String(fault)}`),
    );
    throw error;
  }
}

/** Address of the embedded server of a store. @throws InputError (exit 69) where another command runs it. */
async function startServer(
  { store, env, say }: SessionOptions,
  started: (() => Promise<void>)[],
): Promise<string> {
  const server = await startTemporal({ dir: stateDir(store), binary: null, env, note: say });
  started.push(server.stop);
  return server.address;
}

/** Where the sandboxes are made: an engine, started where none answers, or a cluster that answers now. */
async function findDriver(
  { sandbox, engine, kubernetes, env }: SessionOptions,
  started: (() => Promise<void>)[],
): Promise<DriverChoice> {
  if (sandbox === 'engine') {
    const found = await findEngine(engine, env);
    started.push(found.stop);
    return { sandbox, engine: found.endpoint };
  }
  const choice = { sandbox, kubernetes };
  await checkDriver(choice, env);
  return choice;
}

/** The flags of `passband worker` for a session. */
export function workerArgs(
  options: Pick<SessionOptions, 'namespace' | 'store' | 'concurrency'> & { readonly temporal: string },
  driver: DriverChoice,
): string[] {
  return [
    ...['--temporal', options.temporal, '--namespace', options.namespace, '--store', options.store],
    ...['--sandbox', driver.sandbox],
    ...(driver.sandbox === 'engine' ? ['--engine', driver.engine] : []),
    ...(driver.sandbox === 'kubernetes' && driver.kubernetes !== null
      ? ['--kubernetes', driver.kubernetes]
      : []),
    ...['--concurrency', String(options.concurrency)],
  ];
}
