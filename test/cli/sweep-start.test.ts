// What sweep start says at its end: its document, the line of an interruption.
import { expect, it } from 'vitest';
import { interruptionOf, sweepDocument } from '../../cli/sweep-start.ts';
import { ClassifiedError } from '../../domain/errors.ts';

const summary = {
  sweep: 's',
  planned: 8,
  counted: 3,
  coverage: 0.375,
  rejected: [],
  results: { passed: 3 },
  endings: { completed: 3 },
  failures: { EgressOpen: 1 },
};

it('a sweep that a failure class stopped has its reason in its document', () => {
  const stopped = new ClassifiedError('EgressOpen', 'metadata address answers from inside');
  expect(sweepDocument({ summary, stopped })).toEqual({
    ...summary,
    stopped: { failureClass: 'EgressOpen', reason: 'metadata address answers from inside' },
  });
  expect(sweepDocument({ summary, stopped: null })).toEqual({ ...summary, stopped: null });
});

it('an interruption says what goes on: nothing of its own, and all that a named server runs', () => {
  expect(interruptionOf('s', { namespace: 'default' })).toBe(
    'interrupted: nothing is left running; the same command goes on with sweep s',
  );
  expect(interruptionOf('s', { temporal: 'temporal:7233', namespace: 'team', store: 's3://b/p' })).toBe(
    'interrupted: what was started at temporal:7233 goes on; passband sweep watch s --temporal temporal:7233 --namespace team --store s3://b/p follows it, passband sweep cancel s --temporal temporal:7233 --namespace team --store s3://b/p ends it',
  );
});
