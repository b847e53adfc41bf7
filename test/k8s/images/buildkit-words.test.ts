// What BuildKit 0.34 was seen to say, and the class that each of it has.
import { describe, expect, it } from 'vitest';
import { buildFailure, readLog } from '../../../k8s/images/buildkit-words.ts';

const failing = (log: string, offline = false) =>
  buildFailure(readLog(log), { name: 'registry:5000/passband/base:1', offline });

const step = (output: string, command = 'false') =>
  `#5 [2/2] RUN ${command}\n${output
    .split('\n')
    .map((line) => `#5 0.151 ${line}`)
    .join('\n')}\n#5 ERROR: process "/bin/sh -c ${command}" did not complete successfully: exit code: 3
------
 > [2/2] RUN ${command}:
0.151 ${output}
------
Dockerfile:2
--------------------
   1 |     FROM debian:12
   2 | >>> RUN ${command}
--------------------
error: failed to solve: process "/bin/sh -c ${command}" did not complete successfully: exit code: 3
`;
const solving = (words: string) =>
  `#2 [internal] load metadata\n#2 ERROR: x\nerror: failed to solve: ${words}\n`;
const baseOf = (name: string, words: string) =>
  solving(`${name}: failed to resolve source metadata for docker.io/library/${name}: ${words}`);
const pushOf = (words: string) => solving(`failed to push registry:5000/passband/base:1: ${words}`);
const head = 'unexpected status from HEAD request to http://registry:5000/v2/x/blobs/sha256:12:';

describe('a failed step', () => {
  it('is the Dockerfile’s own, with the step and its last lines', () => {
    const error = failing(step('the reason'));
    expect(error.failureClass).toBe('ImageMissing');
    expect(error.message).toMatch(
      /^the build failed: failed to solve: process "\/bin\/sh -c false" did not complete.*: 3\nthe reason$/,
    );
  });

  it('has no more than its last 15 lines', () => {
    const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`);
    expect(
      failing(step(lines.join('\n')))
        .message.split('\n')
        .slice(1),
    ).toEqual(lines.slice(-15));
  });

  it('is tried again where what it asked had no answer, but offline', () => {
    const log = step("Temporary failure resolving 'deb.example'\nE: Unable to fetch some archives");
    expect(failing(log).failureClass).toBe('ImagePullTransient');
    expect(failing(log, true).failureClass).toBe('ImageMissing');
  });

  it('is the platform’s where the runtime did not run it, whatever the step itself is called', () => {
    expect(failing(step('runc run failed: unable to start container process: x')).failureClass).toBe(
      'PlatformUnavailable',
    );
    expect(failing(step('write /x: no space left on device')).failureClass).toBe('PlatformUnavailable');
    expect(failing(step('x', 'echo no space left on device 429 too many requests')).failureClass).toBe(
      'ImageMissing',
    );
    expect(failing(step('x', 'echo transport is closing')).failureClass).toBe('ImageMissing');
  });
});

it('is the task’s where the image does not hold what a step runs, though the runtime says it', () => {
  const shell = 'exec: "/bin/sh": stat /bin/sh: no such file or directory';
  expect(failing(step(`runc run failed: unable to start container process: ${shell}`))).toMatchObject({
    failureClass: 'ImageMissing',
  });
});

describe('a Dockerfile that cannot be built', () => {
  it.each([
    'dockerfile parse error on line 2: unknown instruction: RUNN (did you mean RUN?)',
    'failed to compute cache key: failed to calculate checksum of ref a::b: "/nothere": not found',
    'failed to read dockerfile: open Dockerfile: no such file or directory',
  ])('is the task’s: %s', (words) => {
    expect(failing(solving(words))).toMatchObject({ failureClass: 'ImageMissing' });
    expect(failing(solving(words)).message).toContain(words);
  });
});

describe('a base', () => {
  it('that is not there is named, with the way to bring it', () => {
    const error = failing(baseOf('debian:99', 'docker.io/library/debian:99: not found'));
    expect(error.failureClass).toBe('ImageMissing');
    expect(error.message).toMatch(
      /^image docker\.io\/library\/debian:99 .*passband images base docker\.io\/library\/debian:99=/,
    );
  });

  it.each([
    ['ImageMissing', 'x:3.500', 'docker.io/library/x:3.500: not found'],
    [
      'ImageMissing',
      'x',
      'failed to do request: Head "https://nowhere.invalid/v2/x": dial tcp: lookup nowhere.invalid on 10.0.0.2:53: no such host',
    ],
    ['ImageMissing', 'x', `${head} 401 Unauthorized`],
    ['ImageMissing', 'x', 'pull access denied, repository does not exist or may require authorization'],
    ['ImagePullTransient', 'x', `${head} 429 Too Many Requests`],
    ['ImagePullTransient', 'x', `${head} 503 Service Unavailable`],
    [
      'ImagePullTransient',
      'x',
      'failed to do request: Head "http://r/v2": dial tcp 10.0.0.1:5000: connect: connection refused',
    ],
    [
      'ImagePullTransient',
      'x',
      'pulling from host r failed with status code [manifests 1]: 429\ntoomanyrequests: slow down',
    ],
  ])('is %s: %s: %s', (failureClass, name, words) => {
    expect(failing(baseOf(name, words))).toMatchObject({ failureClass });
  });
});

describe('a push', () => {
  it.each([
    ['Forbidden', `${head} 401 Unauthorized`],
    ['Forbidden', 'server message: insufficient_scope: authorization failed'],
    ['ImagePullTransient', `${head} 429 Too Many Requests`],
    ['ImagePullTransient', `${head} 503 Service Unavailable`],
    [
      'ImagePullTransient',
      'failed to do request: Head "https://r/v2": dial tcp 10.0.0.1:5000: connect: connection refused',
    ],
    [
      'ConfigInvalid',
      'failed to do request: Head "https://r/v2": http: server gave HTTP response to HTTPS client',
    ],
    [
      'ConfigInvalid',
      'failed to do request: Head "https://r/v2": tls: failed to verify certificate: x509: unknown authority',
    ],
  ])('is %s: %s', (failureClass, words) => {
    expect(failing(pushOf(words))).toMatchObject({ failureClass });
  });
});

describe('a daemon', () => {
  it.each([
    'error: listing workers for Build: failed to list workers: Unavailable: connection error: desc = "transport: Error while dialing: dial unix /x.sock: connect: no such file or directory"',
    'error: failed to receive status: rpc error: code = Unavailable desc = error reading from server: EOF',
    '#5 [2/2] RUN sleep 20\n',
  ])('that is gone is the platform’s: %s', (log) => {
    expect(failing(log).failureClass).toBe('PlatformUnavailable');
  });
});
