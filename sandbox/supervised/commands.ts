// Commands in a sandbox: jobs under an id, waited for by asking again, so that no cut runs one twice.
import { Readable } from 'node:stream';
import { ClassifiedError } from '../../domain/errors.ts';
import { SupervisorError } from '../protocol/connection.ts';
import { EmptyResponse, RunResponse } from '../protocol/responses.ts';
import type { Command, CommandResult } from '../port.ts';
import { recovering } from './recovery.ts';
import type { Supervised } from './supervised.ts';
import { unstartable, unstartableAfterAgent } from './unstartable.ts';

/** How long one question waits before it is asked again. */
const waitMs = 60_000;
const defaultOutputLimitBytes = 1024 ** 2;
/** What the supervisor keeps of a stream at most. */
const maxOutputLimitBytes = 8 * 1024 ** 2;

/** Exit status of what could not be started at all, as a shell gives it. */
const notStarted = 126;

/** Runs a command to its end. */
export async function runCommand(
  sandbox: Supervised,
  command: Command,
  signal?: AbortSignal,
): Promise<CommandResult> {
  if (command.byAgent !== true) return await runOrRefuse(sandbox, command, unstartable, signal);
  const ran = await tryToRun(sandbox, command, unstartableAfterAgent, signal);
  if (!(ran instanceof SupervisorError)) return ran;
  // Nothing was started under its id.
  return await runOrRefuse(sandbox, { ...command, cwd: '/' }, unstartableAfterAgent, signal);
}

/** What cannot be started ends with the status that a shell has for it. */
async function runOrRefuse(
  sandbox: Supervised,
  command: Command,
  refusals: readonly string[],
  signal: AbortSignal | undefined,
): Promise<CommandResult> {
  const ran = await tryToRun(sandbox, command, refusals, signal);
  return ran instanceof SupervisorError ? notStartedResult(ran) : ran;
}

/** Its result, or the refusal, of one of these kinds, because of which it was not started. */
async function tryToRun(
  sandbox: Supervised,
  command: Command,
  refusals: readonly string[],
  signal: AbortSignal | undefined,
): Promise<CommandResult | SupervisorError> {
  const request = { ...requestOf(sandbox, command), timeoutMs: command.timeoutMs, waitMs, background: false };
  const { stdin } = command;
  for (let asked = 0; ; asked += 1) {
    let response;
    try {
      response = await recovering(
        sandbox,
        `command ${command.id}`,
        async (connection) => {
          const body = stdin === undefined || asked > 0 ? {} : { body: Readable.from(chunksOf(stdin)) };
          const exchanged = await connection.exchange({ request, response: RunResponse, signal, ...body });
          return exchanged.response;
        },
        refusals,
      );
    } catch (error) {
      if (error instanceof SupervisorError && refusals.includes(error.kind)) return error;
      throw error;
    }
    if (response.state === 'lost') {
      throw new ClassifiedError('ExecBroken', `command ${command.id}: ${response.message}`);
    }
    if (response.state === 'exited') {
      const { stdout, stderr, ...rest } = response;
      return {
        exitCode: rest.exitCode,
        signal: rest.signal,
        timedOut: rest.timedOut,
        stdout: Buffer.from(stdout, 'base64'),
        stderr: Buffer.from(stderr, 'base64'),
        stdoutOmitted: rest.stdoutOmitted,
        stderrOmitted: rest.stderrOmitted,
        wallMs: rest.wallMs,
      };
    }
  }
}

/** Starts a command and leaves it running. */
export async function startCommand(
  sandbox: Supervised,
  command: Omit<Command, 'stdin' | 'timeoutMs'>,
): Promise<void> {
  const request = { ...requestOf(sandbox, command), timeoutMs: null, waitMs: 0, background: true };
  await recovering(sandbox, `command ${command.id}`, (connection) =>
    connection.exchange({ request, response: EmptyResponse }),
  );
}

/** Kills a command's whole tree, children that left its session included. */
export async function killCommand(sandbox: Supervised, id: string): Promise<void> {
  try {
    await recovering(
      sandbox,
      `killing command ${id}`,
      (connection) => connection.exchange({ request: { op: 'kill', id }, response: EmptyResponse }),
      ['not-found'],
    );
  } catch (error) {
    // It was never started.
    if (!(error instanceof SupervisorError && error.kind === 'not-found')) throw error;
  }
}

function requestOf(
  { facts }: Supervised,
  command: Omit<Command, 'stdin' | 'timeoutMs'>,
): Record<string, unknown> & { op: 'run' } {
  const limit = command.outputLimitBytes ?? defaultOutputLimitBytes;
  if (limit > maxOutputLimitBytes)
    throw new RangeError(`outputLimitBytes ${limit} is above ${maxOutputLimitBytes}`);
  const clean = command.envBase === 'image';
  return {
    op: 'run',
    id: command.id,
    argv: command.argv,
    env: clean ? { ...command.env } : { ...facts.env, ...command.env },
    cleanEnv: clean,
    cwd: command.cwd ?? facts.image.workdir,
    user: command.user ?? null,
    outputLimitBytes: limit,
    ...(command.outputFile === undefined ? {} : { outputFile: command.outputFile }),
  };
}

function notStartedResult(error: SupervisorError): CommandResult {
  return {
    exitCode: notStarted,
    signal: null,
    timedOut: false,
    stdout: new Uint8Array(),
    stderr: Buffer.from(`passband: ${error.message}\n`),
    stdoutOmitted: 0,
    stderrOmitted: 0,
    wallMs: 0,
  };
}

function chunksOf(bytes: Uint8Array): Buffer[] {
  return bytes.byteLength === 0 ? [] : [Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)];
}
