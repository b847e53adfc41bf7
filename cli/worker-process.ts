// The worker of the embedded default: a child process, started again if it dies, ended with us.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { failureOfDeaths } from './worker-death.ts';

const mainFile = fileURLToPath(new URL('main.ts', import.meta.url));
/** Its last words may come after its end is known. */
const lastWordsMs = 500;
const drainMs = 8_000;

export interface WorkerProcess {
  /** The current child's process id. */
  pid(): number | null;
  /** Drains and ends it; kills it where it does not end, or as soon as `hurry` aborts. */
  readonly stop: (hurry?: AbortSignal) => Promise<void>;
  /** Rejects when the worker cannot be kept alive. */
  readonly failed: Promise<never>;
}

/**
 * Starts `passband worker ARGS` as a child. Its stdin is a pipe that is never written: the child ends when the pipe
 * closes, so that it cannot outlive us, however we end. `onRestart` is told of each death.
 */
export function startWorkerProcess(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  onRestart: (why: string) => void,
): WorkerProcess {
  let child: ChildProcess | null = null;
  let stopping = false;
  const deaths: number[] = [];
  let exited: Promise<void> = Promise.resolve();
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => {});

  const launch = (): void => {
    // A process group of its own: Ctrl-C in a terminal reaches us, and we drain it.
    const started = spawn(process.execPath, [mainFile, 'worker', '--until-stdin-ends', ...args], {
      env,
      stdio: ['pipe', 'ignore', 'pipe'],
      detached: true,
    });
    child = started;
    let said = '';
    started.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-4_000);
      if (env['PASSBAND_DEBUG'] === '1') process.stderr.write(chunk);
    });
    started.stdin.on('error', () => {
      // The child is gone; its exit says so.
    });
    exited = new Promise((resolve) => {
      const end = async (why: string): Promise<void> => {
        resolve();
        if (!started.stderr.closed) {
          await Promise.race([once(started.stderr, 'close'), sleep(lastWordsMs, undefined, { ref: false })]);
        }
        if (stopping) return;
        const now = performance.now();
        deaths.push(now);
        const lastWords = said.trim().split('\n').at(-1) ?? '';
        const recent = deaths.filter((at) => now - at < 60_000).length;
        const failure = failureOfDeaths({ exitCode: started.exitCode, why, lastWords }, recent);
        if (failure !== null) {
          reject(failure);
          return;
        }
        onRestart(why);
        launch();
      };
      started.once('error', (error) => void end(error.message));
      started.once(
        'exit',
        (code, signal) => void end(signal === null ? `exit status ${code ?? 'unknown'}` : `signal ${signal}`),
      );
    });
  };
  launch();

  const hasEnded = (worker: ChildProcess): boolean => worker.exitCode !== null || worker.signalCode !== null;
  const stop = async (hurry?: AbortSignal): Promise<void> => {
    stopping = true;
    const running = child;
    if (running === null || hasEnded(running)) return;
    running.kill('SIGTERM');
    const drained = sleep(drainMs, undefined, {
      ref: false,
      ...(hurry === undefined ? {} : { signal: hurry }),
    });
    // Rejected where somebody is in a hurry: the drain is over.
    await Promise.race([exited, drained]).catch(() => {});
    if (!hasEnded(running)) running.kill('SIGKILL');
    await exited;
  };
  return { pid: () => child?.pid ?? null, failed, stop };
}
