// Builds by BuildKit: its client as a child process, the image pushed, its digest read from what the client writes down.
import { spawn } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { ClassifiedError } from '../../domain/errors.ts';
import type { KubernetesConfig } from '../config.ts';
import { buildFailure, readLog } from './buildkit-words.ts';

export interface BuildKitRequest {
  /** HOST/REPOSITORY:TAG that the image is pushed as. */
  readonly name: string;
  /** The context. */
  readonly folder: string;
  /** Below the folder. */
  readonly dockerfile: string;
  /** The stage to build; unset: the last. */
  readonly target?: string | undefined;
  readonly args?: Readonly<Record<string, string>> | undefined;
  /** RUN without any network. */
  readonly offline: boolean;
  readonly timeoutMs: number;
  /** What it is when that passes: a limit that a task sets is the task's to keep, one of ours is the machine's. */
  readonly late: 'ImageMissing' | 'PlatformUnavailable';
  /** More of the client's arguments. */
  readonly more?: readonly string[];
}

const Metadata = z.object({ 'containerimage.digest': z.string().regex(/^sha256:[0-9a-f]{64}$/) });

/** Bytes of the log that are kept: its end says what failed. */
const logLimit = 64 * 1024;
/** A client that is told to end tells its daemon so first. */
const killAfterMs = 5_000;

export class BuildKit {
  readonly #config: KubernetesConfig;
  readonly #env: NodeJS.ProcessEnv;

  constructor(config: KubernetesConfig, env: NodeJS.ProcessEnv) {
    this.#config = config;
    this.#env = env;
  }

  /**
   * Builds and pushes; the manifest's digest.
   * @throws ClassifiedError as `buildFailure` says, `late` where its time is up, ConfigInvalid where there is no BuildKit
   */
  async build(request: BuildKitRequest, signal?: AbortSignal): Promise<string> {
    const { buildkit, registry } = this.#config;
    if (buildkit === undefined) {
      const mend = 'name a BuildKit (buildkit.address), or build it beforehand: passband images build';
      throw new ClassifiedError(
        'ConfigInvalid',
        `${request.name} is not in the registry, and nothing builds it: ${mend}`,
      );
    }
    const work = await mkdtemp(join(tmpdir(), 'passband-build-'));
    try {
      if (registry.dockerConfig !== undefined)
        await copyFile(registry.dockerConfig, join(work, 'config.json'));
      const metadata = join(work, 'metadata.json');
      const args = [
        '--addr',
        buildkit.address,
        ...argumentsOf(request, { insecure: registry.insecure, metadata }),
      ];
      const env = registry.dockerConfig === undefined ? this.#env : { ...this.#env, DOCKER_CONFIG: work };
      await perform(request, { program: buildkit.buildctl ?? 'buildctl', args, env }, signal);
      return Metadata.parse(JSON.parse(await readFile(metadata, 'utf8')))['containerimage.digest'];
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }
}

/** The arguments of one build. */
export function argumentsOf(
  { name, folder, dockerfile, target, args = {}, offline, more = [] }: BuildKitRequest,
  { insecure, metadata }: { readonly insecure: boolean; readonly metadata: string },
): readonly string[] {
  const output = ['type=image', `name=${name}`, 'push=true', ...(insecure ? ['registry.insecure=true'] : [])];
  return [
    ...['build', '--progress', 'plain', '--frontend', 'dockerfile.v0'],
    ...['--local', `context=${folder}`, '--local', `dockerfile=${folder}`],
    ...['--opt', `filename=${dockerfile}`],
    // BuildKit's own frontend, whatever `# syntax=` names: no build waits for an image that an offline cluster lacks.
    ...['--opt', 'cmdline=builtin'],
    ...(target === undefined ? [] : ['--opt', `target=${target}`]),
    ...Object.entries(args).flatMap(([key, value]) => ['--opt', `build-arg:${key}=${value}`]),
    // The network is part of a step's key: no layer that was built with one is taken for an offline build.
    ...(offline ? ['--opt', 'force-network-mode=none'] : []),
    ...more,
    ...['--output', output.join(','), '--metadata-file', metadata],
  ];
}

interface Program {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

async function perform(
  request: BuildKitRequest,
  { program, args, env }: Program,
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted();
  const timeout = AbortSignal.timeout(request.timeoutMs);
  const ended = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  const keep = (chunk: string): void => void (log = (log + chunk).slice(-logLimit));
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  let kill: NodeJS.Timeout | undefined;
  const stop = (): void => {
    child.kill('SIGTERM');
    kill = setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  };
  ended.addEventListener('abort', stop, { once: true });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', (cause) => {
        const message = `${program}, BuildKit's client, cannot be run (${cause.message}): name it in buildkit.buildctl`;
        reject(new ClassifiedError('ConfigInvalid', message, { cause }));
      });
      child.on('close', resolve);
    });
    if (code === 0) return;
  } finally {
    ended.removeEventListener('abort', stop);
    clearTimeout(kill);
  }
  signal?.throwIfAborted();
  const failed = readLog(log);
  if (timeout.aborted) {
    const seconds = Math.round(request.timeoutMs / 1000);
    const text = [`the build took longer than its limit of ${seconds} s`, ...failed.output].join('\n');
    throw new ClassifiedError(request.late, text);
  }
  throw buildFailure(failed, request);
}
