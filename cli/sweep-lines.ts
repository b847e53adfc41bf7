// What a person is told of a sweep in a line: what is planned, what was rejected, that nothing is left to grade.
import { countTrials, shapeOf, type Plan, type Rejection } from '../domain/sweep.ts';
import { placeOf } from './check.ts';
import { flagText } from './output.ts';
import type { SweepSummary } from './summary.ts';

/** `1 task`, `2 tasks`. */
export const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** A rejection as `check` says it; one of the gate has no place in a file. */
export function rejectionLine(rejection: Rejection): string {
  const parts = [rejection.task, rejection.reason, placeOf(rejection), rejection.message];
  return `rejected: ${parts.filter((part) => part !== '').join(': ')}`;
}

/** What is planned, when it is. `resumed`: the plan stood before. */
export function announcement(plan: Plan, gatesOnly: boolean, resumed: boolean): string {
  const what = gatesOnly
    ? `audit ${plan.sweep}: `
    : `sweep ${plan.sweep}: ${countOf(countTrials(shapeOf(plan)), 'trial')} of `;
  return `${what}${countOf(plan.tasks.length, 'task')} planned, ${countOf(plan.rejected.length, 'task')} rejected at reading${resumed ? ' (going on with it)' : ''}`;
}

/** Of a sweep that is started again and has nothing left to be graded. */
export function completeLine({ sweep, planned }: SweepSummary, detached: boolean): string {
  const how = planned === 0 ? 'has no task left to grade' : 'is complete';
  return `sweep ${sweep} ${how}: ${detached ? 'nothing was started' : 'its results follow'}`;
}

/** How many tasks have no planned trial, and what says why; null where there is none. */
export function rejectedNote(plan: Plan, { rejected }: SweepSummary, tasksDir: string): string | null {
  if (rejected.length === 0) return null;
  const one = rejected.length === 1;
  const command = rejected.length > plan.rejected.length ? 'audit' : 'check';
  const all = countOf(plan.tasks.length + plan.rejected.length, 'task');
  return `${rejected.length} of ${all} ${one ? 'was' : 'were'} rejected: no trial of ${one ? 'it' : 'them'} is planned (\`passband${flagText(command, tasksDir)}\` says why)`;
}
