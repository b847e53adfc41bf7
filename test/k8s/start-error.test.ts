// A pod that its image gives no ground to stand on, seen while it still seemed to run.
import { expect, it } from 'vitest';
import { startError } from '../../k8s/place.ts';
import type { ObservedPod } from '../../k8s/observed-pod.ts';
import { SandboxGone } from '../../sandbox/port.ts';
import { supervisorConfigStatus } from '../../sandbox/supervised/supervisor.ts';
import { observed } from './observed.ts';

const gone = new SandboxGone({ kind: 'gone', cause: 'self', why: 'exited', reason: 'it ended' });
const whenFound = (pod: ObservedPod | null) => ({
  find: () => Promise.resolve(pod),
  logOf: () => Promise.resolve('there is no user ghost'),
});
const ended = (exitCode: number, uid = 'uid-1') =>
  observed({ uid, phase: 'Failed', state: { terminated: { exitCode, reason: 'Error' } } });

it('is a fault of the task, in the words of its log', async () => {
  expect(await startError(whenFound(ended(supervisorConfigStatus)), observed(), gone)).toMatchObject({
    failureClass: 'TaskInvalid',
    message: expect.stringContaining('ghost') as string,
  });
});

it.each([
  ['ended otherwise', ended(137)],
  ['is another', ended(supervisorConfigStatus, 'uid-2')],
  ['is removed', null],
  ['runs', observed()],
])('is what it was where the pod %s', async (_, pod) => {
  expect(await startError(whenFound(pod), observed(), gone)).toBe(gone);
});

it('leaves what is no end of a pod alone', async () => {
  const error = new Error('a network that is away');
  expect(await startError(whenFound(ended(supervisorConfigStatus)), observed(), error)).toBe(error);
});
