import { describe, expect, it } from 'vitest';
import { progressError, progressOf } from '../../k8s/pod-progress.ts';
import { beyondAll, quantityOf, summedRequests, waitsForPlace } from '../../k8s/scheduling.ts';
import { observed, running } from './observed.ts';

const waiting = (reason: string, message = '') =>
  progressOf(observed({ phase: 'Pending', state: { waiting: { reason, message } } }));
const image = '172.30.0.1:5000/passband/task@sha256:5031403502';
const pull = (why: string) => waiting('ErrImagePull', `failed to pull and unpack image "${image}": ${why}`);
const unscheduled = (message: string) =>
  progressOf(
    observed({
      phase: 'Pending',
      state: null,
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
    }),
  );

describe('the progress of a new pod', () => {
  it('is running once its container is, and ended once that is over', () => {
    expect(progressOf(observed())).toEqual({ kind: 'running' });
    const terminated = { terminated: { exitCode: 78 } };
    expect(progressOf(observed({ phase: 'Failed', state: terminated }))).toEqual({ kind: 'ended' });
    expect(waiting('ContainerCreating')).toMatchObject({ kind: 'waiting', late: 'PlatformUnavailable' });
  });

  it('is running once all its containers are, and ended where one of them is over before that', () => {
    const creating = { waiting: { reason: 'ContainerCreating' } };
    expect(progressOf(observed({ beside: { 's0-db': running } }))).toEqual({ kind: 'running' });
    expect(progressOf(observed({ beside: { 's0-db': creating } }))).toMatchObject({ kind: 'waiting' });
    expect(progressOf(observed({ beside: { 's0-db': null } }))).toMatchObject({ kind: 'waiting' });
    const terminated = { terminated: { exitCode: 78 } };
    expect(progressOf(observed({ beside: { 's0-db': terminated } }))).toEqual({ kind: 'ended' });
  });

  it('C28: asks for patience where there is no room, and where nothing else holds it up', () => {
    const late = (progress: ReturnType<typeof progressOf>) =>
      progress.kind === 'waiting' ? progressError('pb-1', progress).retryAfterMs : 'not waiting';
    expect(late(unscheduled('0/2 nodes are available: 2 Insufficient cpu.'))).toBe(1_000);
    expect(late(unscheduled('0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.'))).toBeNull();
    expect(late(waiting('CreateContainerError', 'context deadline exceeded'))).toBeNull();
  });

  it('waits for what the first container says that waits for more than its turn', () => {
    const message = 'failed to pull: 503 Service Unavailable';
    const pulling = { waiting: { reason: 'ErrImagePull', message } };
    const turn = { waiting: { reason: 'PodInitializing' } };
    const creating = { waiting: { reason: 'ContainerCreating' } };
    const of = (state: unknown, beside: unknown, init: unknown) =>
      progressOf(observed({ phase: 'Pending', state, beside: { 's0-db': beside }, init: { seed: init } }));
    const late = { kind: 'waiting', late: 'ImagePullTransient' };
    expect(of(creating, pulling, { terminated: { exitCode: 0 } })).toMatchObject(late);
    expect(of(turn, turn, pulling)).toMatchObject(late);
    expect(of(turn, turn, { running: { startedAt: '2026-01-01T00:00:00Z' } })).toMatchObject({
      ...{ kind: 'waiting', late: 'PlatformUnavailable' },
    });
  });

  it('is refused where a shared volume cannot be begun, and not where its node ended what began it', () => {
    const begun = (exitCode: number, reason?: string) =>
      progressOf(
        observed({
          ...{ phase: 'Failed', state: null },
          ...(reason === undefined ? {} : { reason }),
          init: {
            'seed-shared-0': { terminated: { exitCode, message: 'supervisor: copy: /x: is a file\n' } },
          },
        }),
      );
    expect(begun(1)).toEqual({
      ...{ kind: 'refused', failureClass: 'TaskInvalid' },
      reason: 'a shared volume could not be begun: supervisor: copy: /x: is a file',
    });
    expect(begun(137)).toEqual({ kind: 'ended' });
    expect(begun(1, 'Evicted')).toEqual({ kind: 'ended' });
  });

  it('is refused where the registry has no such image', () => {
    const notFound = `failed to resolve reference "${image}": ${image}: not found`;
    expect(pull(notFound)).toMatchObject({ kind: 'refused', failureClass: 'ImageMissing' });
    expect(pull('no match for platform in manifest: not found')).toMatchObject({
      failureClass: 'ImageMissing',
    });
    const backOff = waiting(
      'ImagePullBackOff',
      `Back-off pulling image "${image}": ErrImagePull: ${notFound}`,
    );
    expect(backOff).toMatchObject({ kind: 'refused', failureClass: 'ImageMissing' });
  });

  it('is refused where the registry does not let us', () => {
    expect(pull('unexpected status from HEAD request: 401 Unauthorized')).toMatchObject({
      kind: 'refused',
      failureClass: 'Forbidden',
    });
    expect(pull('failed to authorize: 403 Forbidden')).toMatchObject({ failureClass: 'Forbidden' });
  });

  it.each([
    'unexpected status from HEAD request: 429 Too Many Requests',
    'unexpected status from GET request to http://r/v2/x/manifests/sha256:1: 503 Service Unavailable',
    'dial tcp 172.30.0.1:5000: i/o timeout',
    'dial tcp 172.30.0.1:5000: connect: connection refused',
    'dial tcp: lookup registry: no such host',
    'unexpected EOF',
  ])('waits on where the registry has no answer just now: %s (C35)', (why) => {
    expect(pull(why)).toMatchObject({ kind: 'waiting', late: 'ImagePullTransient' });
  });

  it('is refused under a name that no image can have, and where the image cannot be started', () => {
    expect(waiting('InvalidImageName')).toMatchObject({ kind: 'refused', failureClass: 'TaskInvalid' });
    expect(waiting('RunContainerError', 'exec format error')).toMatchObject({ failureClass: 'TaskInvalid' });
    expect(waiting('CreateContainerError', 'context deadline exceeded')).toMatchObject({
      kind: 'waiting',
      late: 'PlatformUnavailable',
    });
  });

  it('waits for room, and is an activity to be asked again when it gets none', () => {
    const progress = unscheduled(
      '0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {a: b}. preemption: 0/2 nodes are available: 2 No preemption victims found.',
    );
    expect(progress).toMatchObject({ kind: 'waiting', late: 'PlatformUnavailable', hopeless: false });
    if (progress.kind !== 'waiting') throw new Error('it waits');
    expect(progressError('pb-1', progress)).toMatchObject({
      failureClass: 'PlatformUnavailable',
      message: expect.stringMatching(/^pod pb-1 does not start: 0\/2 nodes/) as string,
    });
  });

  it.each([
    "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
    "0/3 nodes are available: 1 node(s) had untolerated taint {gpu: true}, 2 node(s) didn't match Pod's node affinity/selector.",
  ])('is unschedulable where no node is of its kind: %s', (message) => {
    expect(unscheduled(message)).toMatchObject({ late: 'SandboxUnschedulable', hopeless: true });
  });

  it.each([
    '0/2 nodes are available: 2 node(s) had untolerated taint {node.kubernetes.io/unreachable: }.',
    '0/2 nodes are available: 2 node(s) were unschedulable.',
    '0/0 nodes are available.',
    'no nodes available to schedule pods',
    '',
  ])('waits where nodes are away for a while: %s', (message) => {
    expect(waitsForPlace(message).hopeless).toBe(false);
  });
});

describe('quantities', () => {
  it('are numbers by their units', () => {
    expect([quantityOf('1500m'), quantityOf('2'), quantityOf('2Gi'), quantityOf('8127Mi')]).toEqual([
      1.5,
      2,
      2 ** 31,
      8127 * 2 ** 20,
    ]);
    expect([quantityOf('much'), quantityOf(undefined), quantityOf('1Zi')]).toEqual([null, null, null]);
  });

  it('are beyond all nodes only where no single node has them all', () => {
    const small = { cpu: '2', memory: '4Gi' };
    const large = { cpu: '1', memory: '64Gi' };
    expect(beyondAll({ cpu: '2', memory: '2Gi' }, [small, large])).toEqual([]);
    expect(beyondAll({ cpu: '4', memory: '2Gi' }, [small, large])).toEqual(['cpu']);
    expect(beyondAll({ cpu: '2', memory: '8Gi' }, [small, large])).toEqual(['cpu', 'memory']);
    expect(beyondAll({ cpu: '4' }, [])).toEqual([]);
  });
});

describe('the requests of a pod', () => {
  it('are those of all its containers', () => {
    const requests = (cpu: string, memory: string) => ({ resources: { requests: { cpu, memory } } });
    expect(summedRequests([requests('500m', '1Gi')])).toEqual({ cpu: '500m', memory: '1Gi' });
    const sum = summedRequests([requests('500m', '1Gi'), requests('2', '512Mi'), {}]);
    expect([quantityOf(sum['cpu']), quantityOf(sum['memory'])]).toEqual([2.5, 1.5 * 1024 ** 3]);
    expect(summedRequests([])).toEqual({});
  });
});
