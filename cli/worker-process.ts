// The worker of the embedded default: a child process, started again if it dies, ended with us.
import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ClassifiedError } from '../domain/errors.ts';

const mainFile = fileURLToPath(new URL('main.ts', import.meta.url));
/** A worker that dies this often within a minute will not live: its last words are the error. */
const restartsAMinute = 5;
const drainMs = 8_000;

export interface WorkerProcess {
  /** The current child's process id. */
  pid(): number | null;
  /** Drains and ends it; kills it where it does not end. */
  readonly stop: () => Promise<void>;
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
  let lastWords = '';
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
    started.stderr.on('data', (chunk: Buffer) => {
      lastWords = (lastWords + chunk.toString()).slice(-4_000);
      if (env['PASSBAND_DEBUG'] === '1') process.stderr.write(chunk);
    });
    started.stdin.on('error', () => {
      // The child is gone; its exit says so.
    });
    exited = new Promise((resolve) => {
      const end = (why: string): void => {
        resolve();
        if (stopping) return;
        const now = performance.now();
        deaths.push(now);
        if (started.exitCode === 78 || deaths.filter((at) => now - at < 60_000).length > restartsAMinute) {
          const words = lastWords.trim().split('\n').at(-1) ?? '';
          reject(new ClassifiedError('ConfigInvalid', `the worker does not stay alive (${why}): ${words}`));
          return;
        }
        onRestart(why);
        launch();
      };
      started.once('error', (error) => end(error.message));
      started.once('exit', (code, signal) =>
        end(signal === null ? `exit status ${code ?? 'unknown'}` : `signal ${signal}`),
      );
    });
  };
  launch();

  const hasEnded = (worker: ChildProcess): boolean => worker.exitCode !== null || worker.signalCode !== null;
  const stop = async (): Promise<void> => {
    stopping = true;
    const running = child;
    if (running === null || hasEnded(running)) return;
    running.kill('SIGTERM');
    await Promise.race([exited, sleep(drainMs, undefined, { ref: false })]);
    if (!hasEnded(running)) running.kill('SIGKILL');
    await exited;
  };
  return { pid: () => child?.pid ?? null, failed, stop };
}
