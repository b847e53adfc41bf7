// Workers as a cluster runs them: processes that are started again whenever they end, until nobody wants them any more.
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const mainFile = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
/** Between two starts of one that ends by itself. */
const againMs = 1_000;
const pollMs = 100;
/** What it needs may be away for minutes as it starts. */
const patienceMs = 600_000;
const stopMs = 20_000;

export interface LiveWorker {
  readonly slot: number;
  readonly pid: number;
}

export interface WorkersOptions {
  readonly count: number;
  /** Of `passband worker`. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Their logs go there, one file a slot. */
  readonly dir: string;
  /** Told where one ended that nobody ended. */
  readonly say: (line: string) => void;
}

interface Slot {
  readonly log: WriteStream;
  child: ChildProcess | null;
  listens: boolean;
  /** Milliseconds until another is started when this one ends; null: nobody ended it. */
  awayMs: number | null;
}

const isOf = ({ child }: Slot, pid: number): boolean => child?.pid === pid;

export class Workers {
  readonly #options: WorkersOptions;
  readonly #slots: readonly Slot[];
  readonly #running: readonly Promise<void>[];
  #stopping = false;

  constructor(options: WorkersOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: options.count }, (_, slot) => ({
      log: createWriteStream(path.join(options.dir, `worker-${slot + 1}.log`)),
      ...{ child: null, listens: false, awayMs: null },
    }));
    this.#running = this.#slots.map((slot, at) => this.#keep(slot, at));
  }

  /** Those that listen now; waits until one does. */
  async listening(signal: AbortSignal): Promise<readonly LiveWorker[]> {
    for (;;) {
      const live = this.#slots.flatMap(({ child, listens }, slot) =>
        listens && child?.pid !== undefined ? [{ slot, pid: child.pid }] : [],
      );
      if (live.length > 0) return live;
      await sleep(pollMs, undefined, { signal });
    }
  }

  /** Ends one, has another started after a while, and waits until that one listens. */
  async end(
    { slot, pid }: LiveWorker,
    how: NodeJS.Signals,
    { awayMs, signal }: { readonly awayMs: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const ended = this.#slots[slot];
    if (ended === undefined || !isOf(ended, pid)) return;
    ended.awayMs = awayMs;
    process.kill(pid, how);
    const untilMs = performance.now() + patienceMs;
    while (isOf(ended, pid) || !ended.listens) {
      if (performance.now() > untilMs) {
        throw new Error(`no worker listens in the place of one that was ended ${patienceMs / 1_000} s ago`);
      }
      await sleep(pollMs, undefined, { signal });
    }
  }

  async stop(): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    for (const { child } of this.#slots) child?.kill('SIGTERM');
    const all = Promise.all(this.#running);
    const late = sleep(stopMs, 'late', { ref: false });
    if ((await Promise.race([all, late])) === 'late') {
      for (const { child } of this.#slots) child?.kill('SIGKILL');
    }
    await all;
    for (const { log } of this.#slots) log.end();
  }

  async #keep(slot: Slot, at: number): Promise<void> {
    while (!this.#stopping) await this.#runAndWait(slot, at);
  }

  async #runAndWait(slot: Slot, at: number): Promise<void> {
    const how = await this.#run(slot);
    const { awayMs } = slot;
    slot.awayMs = null;
    if (this.#stopping) return;
    if (awayMs === null) this.#options.say(`worker ${at + 1} ended by itself (${how}) and is started again`);
    await sleep(awayMs ?? againMs);
  }

  /** One process from its start to its end; answers how it ended. */
  async #run(slot: Slot): Promise<string> {
    const { args, env } = this.#options;
    const child = spawn(process.execPath, [mainFile, 'worker', ...args], {
      ...{ env, stdio: ['ignore', 'ignore', 'pipe'] },
      // A group of its own: Ctrl-C reaches the bench, which ends it.
      detached: true,
    });
    slot.child = child;
    child.stderr.on('data', (chunk: Buffer) => {
      slot.log.write(chunk);
      if (chunk.includes('worker listens')) slot.listens = true;
    });
    const killWithUs = (): boolean => child.kill('SIGKILL');
    process.once('exit', killWithUs);
    const how = await new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(signal ?? `exit status ${code ?? 'unknown'}`));
    });
    process.off('exit', killWithUs);
    slot.listens = false;
    slot.child = null;
    return how;
  }
}
