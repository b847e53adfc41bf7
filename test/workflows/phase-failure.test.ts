// What a phase that does not end in time is, and what is asked again for it.
import { ActivityFailure, RetryState, TimeoutFailure, TimeoutType } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { phaseFailureOf } from '../../workflows/phase-failure.ts';
import { trial } from '../../workflows/trial.ts';
import { fakeWorld, planRef } from '../support/fake-activities.ts';
import { startTestTemporal, type TestTemporal } from '../support/temporal-environment.ts';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(async () => {
  await temporal.stop();
});

const timedOut = (phase: string, lastHeartbeat?: unknown): ActivityFailure =>
  new ActivityFailure(
    'activity failed',
    phase,
    '1',
    RetryState.MAXIMUM_ATTEMPTS_REACHED,
    'worker',
    new TimeoutFailure('timed out', lastHeartbeat, TimeoutType.START_TO_CLOSE),
  );

describe('a phase that does not end in time', () => {
  test.each([
    'readPlan',
    'readDone',
    'readTrial',
    'readGate',
    'recordVerdict',
    'recordFailure',
    'concludeGate',
  ])('is a store that hangs where it is %s', (phase) => {
    expect(phaseFailureOf(timedOut(phase)).failureClass).toBe('StoreUnavailable');
  });

  test.each(['provision', 'verify', 'takeDelta'])('is the platform\u2019s where it is %s', (phase) => {
    expect(['SandboxUnschedulable', 'ExecBroken']).toContain(phaseFailureOf(timedOut(phase)).failureClass);
  });

  test('is the one that the last heartbeat names, where an activity does several', () => {
    expect(phaseFailureOf(timedOut('provision', { phase: 'passBarrier' }))).toMatchObject({
      failureClass: 'ExecBroken',
      phase: 'passBarrier',
    });
  });

  test('is asked again where it writes the verdict of a finished trial, and not where it hangs in a sandbox', async () => {
    const hung = 'TemporalTimeout:StartToClose';
    const world = fakeWorld({ tasks: 1, attempts: [1], scaffolds: 1 });
    const asked = await temporal.play(world.activities, async (scene) => {
      const handle = await scene.start(trial, 'trial-of-options', [{ sweep: 's', plan: planRef, index: 0 }]);
      await handle.result();
      const { events } = await scene.history('trial-of-options');
      return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
        const given = scheduled?.retryPolicy?.nonRetryableErrorTypes ?? [];
        const name = scheduled?.activityType?.name;
        return typeof name === 'string' && !given.includes(hung) ? [name] : [];
      });
    });
    expect(asked).toEqual(['readTrial', 'recordVerdict']);
  });
});
