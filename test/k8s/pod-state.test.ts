import { describe, expect, it } from 'vitest';
import { endOf, refusedStart, runtimeRefusal, serviceEnd, stateOf } from '../../k8s/pod-state.ts';
import { supervisorFaultStatus } from '../../sandbox/supervised/supervisor.ts';
import { lifeOf, type ObservedPod } from '../../k8s/observed-pod.ts';
import { observed, running } from './observed.ts';

const nowMs = Date.parse('2026-01-01T01:00:00Z');
/** The state of a pod of which `made` was told when it was made. */
const look = (pod: ObservedPod | null, made = observed()) =>
  stateOf(pod, { uid: 'uid-1', startedAt: lifeOf(made) ?? '', nodeGraceSec: 40 }, nowMs);
const ended = (exitCode: number, reason = 'Error') =>
  observed({ phase: 'Failed', state: { terminated: { exitCode, reason } } });
const evicted = (message: string) => observed({ phase: 'Failed', reason: 'Evicted', message });
const disrupted = (reason: string) => ({
  type: 'DisruptionTarget',
  status: 'True',
  reason,
  message: 'words',
});

describe('the state of a pod', () => {
  it('is alive while the same container of the same pod runs', () => {
    expect(look(observed())).toEqual({ kind: 'alive' });
  });

  it('is replaced under another uid, restarted under another container (C38, C39)', () => {
    expect(look(observed({ uid: 'uid-2' }))).toMatchObject({ kind: 'replaced' });
    const later = { running: { startedAt: '2026-01-01T00:30:00Z' } };
    expect(look(observed({ state: later }))).toMatchObject({ kind: 'restarted' });
  });

  it('is restarted where another container took the place of one beside it', () => {
    const made = observed({ beside: { 's0-db': running, 's1-web': running } });
    expect(look(made, made)).toEqual({ kind: 'alive' });
    const containerStatuses = made.status.containerStatuses.map((status) =>
      status.name === 's0-db' ? { ...status, containerID: 'containerd://another' } : status,
    );
    const pod = { ...made, status: { ...made.status, containerStatuses } };
    expect(look(pod, made)).toMatchObject({ kind: 'restarted' });
  });

  it('is deleted by the platform where there is none, or where it is going', () => {
    const gone = { kind: 'gone', cause: 'platform', why: 'deleted' };
    expect(look(null)).toMatchObject(gone);
    expect(look(observed({ deletionTimestamp: '2026-01-01T00:59:00Z' }))).toMatchObject(gone);
  });

  it.each([
    ['EvictionByEvictionAPI', 'evicted'],
    ['PreemptionByScheduler', 'evicted'],
    ['DeletionByTaintManager', 'host-lost'],
    ['DeletionByPodGC', 'host-lost'],
    ['TerminationByKubelet', 'host-lost'],
  ])('tells by whom it is being deleted: %s is %s (C39)', (reason, why) => {
    const pod = observed({ deletionTimestamp: '2026-01-01T00:59:00Z', conditions: [disrupted(reason)] });
    expect(look(pod)).toMatchObject({ kind: 'gone', cause: 'platform', why });
  });

  it.each([
    'Pod ephemeral local storage usage exceeds the total limit of containers 100Mi. ',
    'Container main exceeded its local ephemeral storage limit "100Mi". ',
    'Usage of EmptyDir volume "x" exceeds the limit "1Gi". ',
  ])('is its own doing where its own files outgrew their limit: %s', (message) => {
    expect(look(evicted(message))).toMatchObject({ kind: 'gone', cause: 'self', why: 'disk' });
  });

  it.each([
    'The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi. Container main was using 3Gi, request is 1Gi, has larger consumption of memory. ',
    'The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 1Mi. Container main was using 900Mi, request is 100Mi, has larger consumption of ephemeral-storage. ',
    'The node had condition: [DiskPressure]. ',
  ])('is the platform where the node was short of something: %s', (message) => {
    expect(look(evicted(message))).toMatchObject({ kind: 'gone', cause: 'platform', why: 'evicted' });
  });

  it('is its own memory where the kernel took PID 1 for it, and nobody knows else (C40)', () => {
    expect(look(ended(137, 'OOMKilled'))).toMatchObject({ cause: 'self', why: 'oom' });
    expect(look(ended(137))).toMatchObject({ cause: 'platform', why: 'exited' });
    expect(look(ended(143))).toMatchObject({ cause: 'platform', why: 'exited' });
    expect(look(ended(2))).toMatchObject({ cause: 'self', why: 'exited' });
  });

  it('is not its own memory where PID 1 ended otherwise, and a child for memory before it (C40)', () => {
    expect(look(ended(143, 'OOMKilled'))).toMatchObject({ cause: 'platform', why: 'exited' });
    expect(look(ended(2, 'OOMKilled'))).toMatchObject({ cause: 'self', why: 'oom' });
  });

  it.each([
    [71, 'self', 'exited'],
    [73, 'self', 'disk'],
    [75, 'platform', 'evicted'],
  ])('is what PID 1 says of the bounds that it keeps: %i', (exitCode, cause, why) => {
    for (const reason of ['Error', 'OOMKilled']) {
      expect(look(ended(exitCode, reason))).toMatchObject({ kind: 'gone', cause, why });
    }
  });

  it('is gone with a service that its machine took, and goes on without one that ended by itself', () => {
    const beside = (exitCode: number) => ({ 's0-db': { terminated: { exitCode, reason: 'Error' } } });
    const made = observed({ beside: { 's0-db': running } });
    const of = (exitCode: number) => look(observed({ beside: beside(exitCode) }), made);
    expect(of(75)).toMatchObject({ kind: 'gone', cause: 'platform', why: 'evicted' });
    expect(of(supervisorFaultStatus)).toMatchObject({ kind: 'gone', cause: 'platform' });
    for (const exitCode of [0, 2, 71, 73]) expect(of(exitCode)).toEqual({ kind: 'alive' });
    const end = serviceEnd(observed({ beside: beside(73) }), { name: 'db', container: 's0-db' });
    expect(end).toMatchObject({ cause: 'self', why: 'disk' });
  });

  it('is the platform where PID 1 ended for a fault of its own, whatever ran out of memory before', () => {
    const message = 'a fault of PID 1 itself: index out of range\ngoroutine 7';
    for (const reason of ['Error', 'OOMKilled']) {
      const pod = observed({
        phase: 'Failed',
        state: { terminated: { exitCode: supervisorFaultStatus, reason, message } },
      });
      const state = look(pod);
      expect(state).toMatchObject({ kind: 'gone', cause: 'platform', why: 'exited' });
      expect(state).toMatchObject({
        reason: expect.stringContaining('index out of range goroutine 7') as string,
      });
    }
  });

  it('is a lost host where the node came back and knows nothing of it', () => {
    expect(look(ended(137, 'ContainerStatusUnknown'))).toMatchObject({ why: 'host-lost' });
    expect(look(ended(255, 'Unknown'))).toMatchObject({ why: 'host-lost' });
    for (const reason of ['NodeLost', 'Terminated', 'NodeShutdown', 'NodeAffinity']) {
      const pod = observed({ phase: 'Failed', reason, state: null });
      expect(look(pod)).toMatchObject({ cause: 'platform', why: 'host-lost' });
    }
  });

  it('is evicted where the node found no room for it, and gone where its time was over', () => {
    const full = observed({ phase: 'Failed', reason: 'OutOfcpu', state: null });
    expect(look(full)).toMatchObject({ cause: 'platform', why: 'evicted' });
    const over = observed({ phase: 'Failed', reason: 'DeadlineExceeded' });
    expect(look(over)).toMatchObject({ cause: 'platform', why: 'deleted' });
  });

  it('is gone with a silent node once its grace is over, and alive until then', () => {
    const silent = (lastTransitionTime: string) =>
      observed({ conditions: [{ type: 'Ready', status: 'False', lastTransitionTime }] });
    expect(look(silent('2026-01-01T00:59:30Z'))).toEqual({ kind: 'alive' });
    expect(look(silent('2026-01-01T00:59:10Z'))).toMatchObject({ cause: 'platform', why: 'host-lost' });
    const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
    expect(look(observed({ conditions: [ready] }))).toEqual({ kind: 'alive' });
  });

  it('is alive beside a service whose container has ended, which is gone by itself', () => {
    const lastTransitionTime = '2026-01-01T00:00:30Z';
    const conditions = ['Ready', 'ContainersReady'].map((type) => ({
      ...{ type, status: 'False', lastTransitionTime },
    }));
    const terminated = { exitCode: 137, reason: 'OOMKilled' };
    const made = observed({ beside: { 's0-db': running, 's1-web': running } });
    const pod = observed({ conditions, beside: { 's0-db': { terminated }, 's1-web': running } });
    expect(look(pod, made)).toEqual({ kind: 'alive' });
    const end = serviceEnd(pod, { name: 'db', container: 's0-db' });
    expect(end).toMatchObject({ kind: 'gone', cause: 'self', why: 'oom' });
    expect(end?.reason).toContain('service db');
    expect(serviceEnd(pod, { name: 'web', container: 's1-web' })).toBeNull();
    expect(endOf(pod)).toMatchObject({ kind: 'gone', cause: 'self', why: 'oom' });
  });

  it('tells a start that PID 1 or the runtime refused', () => {
    expect(refusedStart(observed({ beside: { 's0-db': { terminated: { exitCode: 78 } } } }))).toBe('s0-db');
    expect(refusedStart(ended(78))).toBe('main');
    expect(refusedStart(ended(1))).toBeNull();
    const noProgram = 'exec: "/opt/passband/bin/supervisor": stat: no such file or directory: unknown';
    const terminated = { exitCode: 128, reason: 'StartError', message: noProgram };
    expect(runtimeRefusal(observed({ phase: 'Failed', state: { terminated } }))).toContain('no such file');
    const busy = { exitCode: 128, reason: 'StartError', message: 'resource temporarily unavailable' };
    expect(runtimeRefusal(observed({ phase: 'Failed', state: { terminated: busy } }))).toBeNull();
    expect(runtimeRefusal(observed({ state: running }))).toBeNull();
  });

  it('never takes a pod that ended for alive, whatever is said of it', () => {
    expect(endOf(observed({ phase: 'Succeeded', state: null }))).toMatchObject({ kind: 'gone' });
    expect(endOf(ended(0))).toMatchObject({ kind: 'gone', cause: 'platform', why: 'exited' });
  });
});
