// What BuildKit says when a build fails, and what each of it means.
import { ClassifiedError } from '../../domain/errors.ts';
import type { FailureClass } from '../../domain/failures.ts';
import { bringBase } from '../../sandbox/images/base-request.ts';
import { saysEngineFailed, saysNetworkFailed, saysRegistryBusy } from '../../sandbox/images/failure-words.ts';

/** Lines of what the steps printed that an error ends with, and in which what failed is looked for. */
const lastLines = 15;
/** A runtime that could not run a step says so as the step's last output. */
const runtimeLines = 3;

export interface FailedBuild {
  /** `failed to solve: …`; null where the client ended without a word of it. */
  readonly error: string | null;
  /** What the steps printed, line by line. */
  readonly output: readonly string[];
  /** Lines of the client's own that are neither. */
  readonly rest: readonly string[];
}

/** Takes the client's plain log apart. */
export function readLog(log: string): FailedBuild {
  const output: string[] = [];
  const rest: string[] = [];
  let error: string | null = null;
  for (const line of log.split('\n')) {
    const step = /^#\d+ \d+\.\d+ (.*)$/.exec(line);
    const last = /^error: (.*)$/.exec(line);
    // The error stands at the end, and may have a registry's words on a line of their own.
    if (error !== null) error = `${error} ${line}`.trim();
    else if (last !== null) error = last[1] ?? '';
    else if (step !== null) output.push(step[1] ?? '');
    else if (line.trim() !== '' && !line.startsWith('#')) rest.push(line);
  }
  return {
    error,
    output: output.filter((line) => line.trim() !== '').slice(-lastLines),
    rest: rest.slice(-lastLines),
  };
}

/** The daemon is not there, or went away in the middle of it. */
const daemonGone =
  /listing workers|failed to list workers|code = Unavailable|^Unavailable:|error reading from server|transport is closing|server closed the stream|no active session|code = Canceled|context canceled|graceful[_ ]stop/i;
/** Words of a request that a registry, or the way to it, did not serve, beside those that every engine says. */
const unreached = /dial tcp|connection refused|no route to host|network is unreachable|: EOF$|broken pipe/i;
const notThere = /no such host|\bnot found\b/i;
const refusedTls = /x509:|certificate|server gave HTTP response to HTTPS client|tls: /i;
const notLetIn = /\b40[13]\b|unauthorized|authorization failed|insufficient_scope|\bdenied\b|forbidden/i;
const base = /failed to resolve source metadata for (\S+): (.*)$/;
const push = /failed to push (\S+): (.*)$/;
const quotedStep = /process "(?:[^"\\]|\\.)*"/g;

/**
 * The error of a build that failed. `ImageMissing`: the Dockerfile's own failure, or a base that is not there;
 * `ImagePullTransient`: a registry, or what a RUN asks, has no answer just now; `PlatformUnavailable`: the daemon is
 * gone, or could not run a step; `Forbidden`, `ConfigInvalid`: our own registry does not take what we push.
 */
export function buildFailure(
  failed: FailedBuild,
  { name, offline }: { readonly name: string; readonly offline: boolean },
): ClassifiedError {
  const { error, output, rest } = failed;
  const of = (failureClass: FailureClass, message: string): ClassifiedError =>
    new ClassifiedError(failureClass, message);
  if (error === null) {
    return of('PlatformUnavailable', `building ${name}: buildctl ended early${ending([...rest, ...output])}`);
  }
  const own = error.replaceAll(quotedStep, 'process');
  if (daemonGone.test(own)) return of('PlatformUnavailable', `BuildKit, building ${name}: ${error}`);
  const told = `the build failed: ${error}${ending(output)}`;
  const pushed = push.exec(own);
  if (pushed !== null) return pushFailure(pushed[1] ?? name, pushed[2] ?? '');
  const found = base.exec(own);
  if (found !== null) return baseFailure(found[1] ?? '', found[2] ?? '');
  if (saysEngineFailed(own) || saysEngineFailed(output.slice(-runtimeLines).join('\n'))) {
    return of('PlatformUnavailable', told);
  }
  // Without a network every request of a RUN fails, and no later one does better.
  const stepFailed = own.includes('did not complete successfully');
  const busy = stepFailed
    ? !offline && saysNetworkFailed(output.join('\n'))
    : saysRegistryBusy(own) || unreached.test(own);
  return of(busy ? 'ImagePullTransient' : 'ImageMissing', told);
}

function pushFailure(name: string, words: string): ClassifiedError {
  const told = `pushing ${name}: ${words}`;
  const own = withoutNames(words, name);
  if (refusedTls.test(own)) {
    return new ClassifiedError('ConfigInvalid', `${told}; registry.insecure is for plain HTTP`);
  }
  const refused = notLetIn.test(own) && !saysRegistryBusy(own);
  return new ClassifiedError(refused ? 'Forbidden' : 'ImagePullTransient', told);
}

function baseFailure(name: string, words: string): ClassifiedError {
  const own = withoutNames(words, name);
  const absent = notThere.test(own);
  const transient = !absent && (saysRegistryBusy(own) || unreached.test(own));
  const text = `image ${name} is not in its registry, or cannot be had from it: ${words}; ${bringBase(name)}`;
  return new ClassifiedError(transient ? 'ImagePullTransient' : 'ImageMissing', text);
}

/** Names hold numbers: a tag 3.500 is no status. */
const withoutNames = (words: string, name: string): string =>
  words.replaceAll(name, '').replaceAll(/\bhttps?:\/\/[^\s"]+/g, '');

const ending = (lines: readonly string[]): string => {
  const last = lines.slice(-lastLines);
  return last.length === 0 ? '' : `\n${last.join('\n')}`;
};
