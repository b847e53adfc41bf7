// What a person is told of a sweep in a line.
import { expect, it } from 'vitest';
import { announcement, completeLine, rejectedNote, rejectionLine } from '../../cli/sweep-lines.ts';
import { formatSummary } from '../../cli/sweep-start.ts';
import type { Rejection } from '../../domain/sweep.ts';
import { planOf } from '../support/sweep-data.ts';

const atReading: Rejection = {
  task: 'me/x2',
  reason: 'invalid',
  file: 'x2/task.toml',
  key: 'agent.timeout_sec',
  line: 19,
  message: 'it takes a number',
};
const atGate: Rejection = {
  ...{ task: 'me/x3', reason: 'oracle-fails', file: null, key: null, line: null },
  message: 'its solution does not pass',
};
const planned = (tasks: number) => planOf({ sweep: 's', tasks, models: { m: 1 } });
const summaryOf = (...rejected: Rejection[]) => ({
  ...{ sweep: 's', planned: 1, counted: 1, coverage: 1, rejected },
  ...{ results: {}, endings: {}, failures: {} },
});

it('a rejection has file, line and key as check prints them, one of the gate has none', () => {
  expect(rejectionLine(atReading)).toBe(
    'rejected: me/x2: invalid: x2/task.toml:19 agent.timeout_sec: it takes a number',
  );
  expect(rejectionLine(atGate)).toBe('rejected: me/x3: oracle-fails: its solution does not pass');
  expect(formatSummary(summaryOf(atReading))).toContain(rejectionLine(atReading));
});

it('one is one', () => {
  expect(formatSummary(summaryOf(atGate))).toContain(
    '1 of 1 planned trial counted (coverage 1.000), 1 task rejected',
  );
  const plan = { ...planned(1), rejected: [atReading] };
  expect(announcement(plan, false, false)).toBe(
    'sweep s: 1 trial of 1 task planned, 1 task rejected at reading',
  );
});

it('rejected tasks are counted among all, with the command that says why', () => {
  const plan = { ...planned(2), rejected: [atReading] };
  expect(rejectedNote(plan, summaryOf(), 'tasks')).toBeNull();
  expect(rejectedNote(plan, summaryOf(atReading), 'my tasks')).toBe(
    "1 of 3 tasks was rejected: no trial of it is planned (`passband check 'my tasks'` says why)",
  );
  expect(rejectedNote(plan, summaryOf(atReading, atGate), 'tasks')).toBe(
    '2 of 3 tasks were rejected: no trial of them is planned (`passband audit tasks` says why)',
  );
});

it('a finished sweep that is started again is said to be complete', () => {
  expect(completeLine(summaryOf(), false)).toBe('sweep s is complete: its results follow');
  expect(completeLine(summaryOf(), true)).toBe('sweep s is complete: nothing was started');
  expect(completeLine({ ...summaryOf(atGate), planned: 0, counted: 0 }, false)).toBe(
    'sweep s has no task left to grade: its results follow',
  );
});
