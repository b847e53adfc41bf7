// One build by the engine: its network, its limit of time, and an error that says what went wrong and where.
import type { Readable } from 'node:stream';
import { ClassifiedError } from '../../domain/errors.ts';
import type { Engine } from './engine.ts';
import type { FailureClass } from '../../domain/failures.ts';
import { engineError, isAnswer, messageOf, NotThere } from './engine-errors.ts';
import { saysEngineFailed, saysNetworkFailed } from '../images/failure-words.ts';
import { followLog, LoggedFailure, pullFailure } from './pull.ts';

export interface BuildRequest {
  readonly tag: string;
  readonly context: Readable;
  readonly dockerfile: string;
  /** The stage to build; unset: the last. */
  readonly target?: string | undefined;
  readonly args?: Readonly<Record<string, string>> | undefined;
  /** What FROM names: looked for when the build fails, since engines say it in many ways. */
  readonly bases: readonly string[];
  /** RUN without any network. */
  readonly offline: boolean;
  readonly timeoutMs: number;
  /** What it is when that passes: a limit that a task sets is the task's to keep, one of ours is the machine's. */
  readonly late: 'ImageMissing' | 'PlatformUnavailable';
}

/** Lines of the log that an error ends with, and in which what failed is looked for. */
const lastLines = 15;
/** A runtime that could not run a step says so as the step's last output. */
const runtimeLines = 3;

/**
 * Builds and tags. ClassifiedError `ImageMissing` where the build fails (its message ends with the log's last lines,
 * or names the base that is not there), `ImagePullTransient` where a registry or what a RUN asks has no answer just
 * now, `PlatformUnavailable` where the engine does not answer or could not run a step.
 */
export async function build(engine: Engine, request: BuildRequest, signal?: AbortSignal): Promise<void> {
  const timeout = AbortSignal.timeout(request.timeoutMs);
  const abortSignal = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  let log = '';
  const { podman } = await engine.version();
  try {
    const answer = await engine.docker.buildImage(request.context, {
      t: request.tag,
      dockerfile: request.dockerfile,
      ...(request.target === undefined ? {} : { target: request.target }),
      ...(request.args === undefined ? {} : { buildargs: request.args }),
      rm: true,
      forcerm: true,
      abortSignal,
      ...networkOf(request.offline, podman),
    });
    await followLog(answer, (text) => (log = (log + text).slice(-64 * 1024)));
  } catch (error) {
    signal?.throwIfAborted();
    if (timeout.aborted) {
      const seconds = Math.round(request.timeoutMs / 1000);
      throw new ClassifiedError(
        request.late,
        `the build took longer than its limit of ${seconds} s${ending(log)}`,
      );
    }
    throw await buildFailure(engine, request, { error, log });
  }
}

/**
 * Podman takes Docker's words for it and does nothing by them: it has its own. Its default is the host's network.
 * A layer that was once built with a network is no layer of an offline build: nothing is taken from the cache.
 */
function networkOf(offline: boolean, podman: boolean): Readonly<Record<string, unknown>> {
  if (!offline) return {};
  if (!podman) return { networkmode: 'none', nocache: true };
  const nsoptions = JSON.stringify([{ Name: 'network', Host: false }]);
  return { networkmode: 'NetworkDisabled', nsoptions, nocache: true };
}

async function buildFailure(
  engine: Engine,
  { tag, bases, offline }: BuildRequest,
  { error, log }: { readonly error: unknown; readonly log: string },
): Promise<Error> {
  const message = messageOf(error);
  // No word of the engine's: it went away, whatever the build was doing.
  if (!(error instanceof LoggedFailure || isAnswer(error))) return engineError(`building ${tag}`, error);
  const failed = (failureClass: FailureClass) =>
    new ClassifiedError(failureClass, `the build failed: ${message}${ending(log)}`, { cause: error });
  if (saysEngineFailed(message) || saysEngineFailed(endOf(log, runtimeLines).join('\n'))) {
    return failed('PlatformUnavailable');
  }
  for (const base of bases) {
    try {
      await engine.inspectImage(base);
    } catch (absent) {
      if (absent instanceof NotThere) return pullFailure(base, message, error);
      if (absent instanceof Error) return absent;
    }
  }
  // Without a network every request fails, and no later one does better.
  if (!offline && saysNetworkFailed(endOf(log, lastLines).join('\n'))) return failed('ImagePullTransient');
  return failed('ImageMissing');
}

function ending(log: string): string {
  const lines = endOf(log, lastLines);
  return lines.length === 0 ? '' : `\n${lines.join('\n')}`;
}

const endOf = (log: string, count: number): readonly string[] =>
  log
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-count);
