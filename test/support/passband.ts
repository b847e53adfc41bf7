// The product as a person runs it: the CLI as a child process, what it said, how it ended, and what it left behind.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { z } from 'zod';
import { containersOf, removeContainers } from './left-containers.ts';
import { childrenOf, processesMarked } from './left-processes.ts';

export const root = fileURLToPath(new URL('../../', import.meta.url));
export const exampleTasks = path.join(root, 'examples/tasks');

/** What npm keeps there for its next start. */
const npmsOwn = 'node-compile-cache';
const mark = 'PASSBAND_TEST_SCENE';
/** Compiled modules that all scenes share: a scene's own folder for temporary files is always empty. */
const compileCache = path.join(root, 'node_modules/.cache/node-compile');
/** A command that takes longer has hung: the slowest is a cold demo on a busy machine. */
const commandLimitMs = 900_000;
/** What ends after a command has ended: services and containers that were told to. */
const settleMs = 15_000;

/** What `sweep start --json` counts. */
export const CountsSchema = z.object({
  planned: z.int(),
  counted: z.int(),
  failures: z.record(z.string(), z.int()),
});

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** What stands on stderr so far. */
  readonly said: () => string;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Ctrl-C: SIGINT to the whole foreground group. */
  readonly interrupt: () => void;
  /** The worker's process id, null while it has none. */
  readonly workerPid: () => Promise<number | null>;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The program and its first arguments in place of the CLI. */
  readonly command?: readonly [string, ...string[]];
  readonly cwd?: string;
}

/** A folder, a store in it, and the commands that are run on them. */
export interface Scene {
  readonly dir: string;
  /** The store's folder: handed to every command as PASSBAND_STORE. */
  readonly store: string;
  readonly start: (args: readonly string[], options?: StartOptions) => Running;
  readonly run: (args: readonly string[], options?: StartOptions) => Promise<Ended>;
  /** Expects that no process, container or temporary file of this scene is there, a few seconds from now at most. */
  readonly expectNothingLeft: () => Promise<void>;
  /** Ends and removes whatever there is. */
  readonly close: () => Promise<void>;
}

export async function openScene(): Promise<Scene> {
  const dir = await mkdtemp(path.join(tmpdir(), 'passband-e2e-'));
  const temporary = path.join(dir, 'tmp');
  await mkdir(temporary);
  const store = path.join(dir, 'store');
  const id = `${mark}=${randomUUID()}`;
  const env = {
    PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH'] ?? ''}`,
    TMPDIR: temporary,
    NODE_COMPILE_CACHE: compileCache,
    PASSBAND_STORE: store,
    [mark]: id.slice(mark.length + 1),
  };
  const start = (args: readonly string[], options: StartOptions = {}): Running => {
    const [program, ...first] = options.command ?? [process.execPath, path.join(root, 'cli/main.ts')];
    const child = spawn(program, [...first, ...args], {
      cwd: options.cwd ?? dir,
      env: { ...process.env, ...env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own, as a shell gives it: `interrupt` is what Ctrl-C in a terminal is.
      detached: true,
    });
    return follow(child, args.join(' '));
  };
  const left = async (): Promise<string[]> => [
    ...(await processesMarked(id)).map(({ pid, command }) => `process ${pid}: ${command}`),
    ...(await containersOf(store)).map((name) => `container ${name}`),
    ...(await readdir(temporary)).filter((name) => name !== npmsOwn).map((name) => `temporary file ${name}`),
  ];
  return {
    dir,
    store,
    start,
    run: async (args, options) => await start(args, options).ended,
    expectNothingLeft: async () => {
      const deadline = performance.now() + settleMs;
      while (performance.now() < deadline && (await left()).length > 0) await sleep(250);
      expect(await left()).toEqual([]);
    },
    close: async () => {
      for (const { pid } of await processesMarked(id)) process.kill(pid, 'SIGKILL');
      await removeContainers(store);
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function follow(child: ChildProcess, what: string): Running {
  const { pid } = child;
  if (pid === undefined) throw new Error(`${what} was not started`);
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const limit = setTimeout(() => {
    stderr += `\n(the test ended «${what}» after ${commandLimitMs} ms)`;
    child.kill('SIGKILL');
  }, commandLimitMs);
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => {
      clearTimeout(limit);
      resolve({ code, signal, stdout, stderr });
    });
  });
  return {
    pid,
    ended,
    said: () => stderr,
    kill: (signal) => child.kill(signal),
    interrupt: () => process.kill(-pid, 'SIGINT'),
    workerPid: async () =>
      (await childrenOf(pid)).find(({ command }) => command.includes('cli/main.ts worker'))?.pid ?? null,
  };
}

/** Polls until `look` answers something else than null, undefined or false. */
export async function until<T>(
  what: string,
  look: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  timeoutMs = 300_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${timeoutMs} ms`);
    await sleep(100);
  }
}

/** Polls for a stage of a running command; fails with what the command said where it ends before. */
export async function reach<T>(
  running: Running,
  stage: string,
  look: () => Promise<T | null | false> | T | null | false,
): Promise<T> {
  return await until(stage, async () => {
    const ended = await Promise.race([running.ended, Promise.resolve(null)]);
    if (ended !== null) throw new Error(`${stage}: the command ended first: ${ended.stderr}`);
    return await look();
  });
}

/** Expects an exit status; the failure shows what the command said. */
export function expectCode(ended: Ended, code: number): void {
  expect(ended.code, `${ended.stderr}\n${ended.stdout}`).toBe(code);
  expectNoTrace(ended);
}

/** No command prints where in the code something happened. */
function expectNoTrace({ stdout, stderr }: Ended): void {
  expect(`${stdout}\n${stderr}`).not.toMatch(/^\s+at .*[(:]\d+/m);
}

/** Expects that a command was refused: the status, one line on stderr and no other, nothing on stdout. */
export function expectRefusal(ended: Ended, code: number, line: RegExp): void {
  expectFailure(ended, code, line);
  expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(ended.stdout).toBe('');
}

/** Expects that a command failed after it had begun: the status, and one line of it that says why. */
export function expectFailure(ended: Ended, code: number, line: RegExp): void {
  expectCode(ended, code);
  const errors = ended.stderr.split('\n').filter((text) => text.startsWith('passband: '));
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatch(line);
}
