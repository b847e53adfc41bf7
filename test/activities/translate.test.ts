// What a failed activity says to its workflow: the failure table, and nothing that the table does not say.
import { describe, expect, it } from 'vitest';
import { failureOf } from '../../activities/translate.ts';
import { triesInPlace } from '../../domain/backoff.ts';
import { ClassifiedError, InputError, ObjectError } from '../../domain/errors.ts';
import { failureClasses, failureTable } from '../../domain/failures.ts';
import { SandboxGone } from '../../sandbox/port.ts';

const first = { attempt: 1, unit: 0.5, phase: 'verify', holdsPlace: true };
const gone = (cause: 'self' | 'platform') =>
  new SandboxGone({ kind: 'gone', cause, why: 'exited', reason: 'PID 1 ended' });

describe('failureOf', () => {
  it.each(failureClasses)('gives %s its own name, retried as the table says', (name) => {
    const failure = failureOf(new ClassifiedError(name, 'why'), first);
    expect(failure.type).toBe(name);
    expect(failure.nonRetryable).toBe(failureTable[name].retry !== 'activity');
    expect(failure.message).toBe('why');
  });

  it('C36: an unnamed error is Unexpected, is never retried as it stands, and keeps its message', () => {
    const failure = failureOf(new RangeError('no such thing'), first);
    expect(failure).toMatchObject({ type: 'Unexpected', nonRetryable: true });
    expect(failure.message).toBe('RangeError: no such thing');
    expect(failureOf('a string', first).message).toBe('a string');
  });

  it('C36: waits longer try by try, with jitter over the whole range', () => {
    const waits = [1, 4, 8].map((attempt) => {
      const error = new ClassifiedError('StoreUnavailable', '');
      return [0.1, 0.9].map((unit) =>
        Number(failureOf(error, { ...first, attempt, unit, holdsPlace: false }).nextRetryDelay),
      );
    });
    expect(waits.map(([low = 0, high = 0]) => low < high)).toEqual([true, true, true]);
    const highest = waits.map(([, high = 0]) => high);
    expect(highest).toEqual([...highest].sort((a, b) => a - b));
    expect(new Set(highest).size).toBe(3);
  });

  it.each(['ModelUnavailable', 'StreamBroken', 'StoreUnavailable', 'PlatformUnavailable'] as const)(
    '%s is asked again in place a few times, and then only without a place',
    (name) => {
      const at = (attempt: number, holdsPlace: boolean) =>
        failureOf(new ClassifiedError(name, 'away'), { ...first, attempt, holdsPlace });
      expect(at(triesInPlace - 1, true).nonRetryable).toBe(false);
      expect(at(triesInPlace, true).nonRetryable).toBe(true);
      expect(at(triesInPlace, false).nonRetryable).toBe(false);
      expect(at(triesInPlace, true).details).toEqual([{ phase: 'verify', attempt: triesInPlace }]);
    },
  );

  it('C28: a cluster that has no room is waited for in place, for as long as it takes', () => {
    const full = new ClassifiedError('PlatformUnavailable', 'the quota is used up', { retryAfterMs: 1_000 });
    expect(failureOf(full, { ...first, attempt: 50 }).nonRetryable).toBe(false);
    const busy = new ClassifiedError('ModelUnavailable', 'HTTP 429', { retryAfterMs: 1_000 });
    expect(failureOf(busy, { ...first, attempt: 50 }).nonRetryable).toBe(true);
  });

  it('takes the delay that the other side asked for', () => {
    const error = new ClassifiedError('ModelUnavailable', 'HTTP 429', { retryAfterMs: 7_000 });
    expect(failureOf(error, first).nextRetryDelay).toBe(7_000);
  });

  it('a sandbox that the platform lost is SandboxLost; replaced and restarted ones too', () => {
    expect(failureOf(gone('platform'), first).type).toBe('SandboxLost');
    const replaced = new SandboxGone({ kind: 'replaced', reason: 'another container has the name' });
    expect(failureOf(replaced, first).type).toBe('SandboxLost');
  });

  it('an end that the sandbox brought on itself is never SandboxLost: it would be a free re-roll', () => {
    expect(failureOf(gone('self'), first).type).toBe('Unexpected');
  });

  it("bad input is the operator's to mend", () => {
    expect(failureOf(new InputError('no such scaffold'), first).type).toBe('ConfigInvalid');
  });

  it('a stored object that cannot be read is the failure of what stands on it, and stops nothing else', () => {
    const failure = failureOf(new ObjectError('stored object verdict.json is not JSON'), first);
    expect(failure.type).toBe('Unexpected');
    expect(failure.message).toBe('stored object verdict.json is not JSON');
  });

  it('C81: bounds what goes into a history', () => {
    const failure = failureOf(new ClassifiedError('TaskInvalid', 'é'.repeat(1_000_000)), first);
    expect(Buffer.byteLength(failure.message)).toBeLessThanOrEqual(2_048 + 16);
  });
});
