// The names of trials: those that `trial list` shows are those that `trial show` takes.
import { expect, it } from 'vitest';
import { formatTrials, isNamed, trialCommand } from '../../cli/trial.ts';
import type { TrialResult } from '../../cli/results.ts';

const result = {
  trial: {
    task: { id: 'org/Hello', slug: 'org-hello' },
    model: { name: 'Known/one' },
    scaffold: { name: 'terminus-2' },
    attempt: 3,
    path: { sweep: 's', task: 'org-hello', model: 'known-one', scaffold: 'terminus-2', attempt: 3 },
  },
  verdict: null,
  failure: null,
} as unknown as TrialResult;

it('are one column, each as trial show takes it', () => {
  const [head = '', row = ''] = formatTrials([result]).split('\n');
  expect(head).toMatch(/^trial +ending/);
  const name = row.split(' ')[0] ?? '';
  expect(name).toBe('org/Hello/Known/one/terminus-2/3');
  expect(isNamed(result, name)).toBe(true);
});

it('may be spelled by slugs, and are no other trial’s', () => {
  expect(isNamed(result, 'org-hello/known-one/terminus-2/03')).toBe(true);
  expect(isNamed(result, 'org/Hello/Known/one/terminus-2/30')).toBe(false);
});

it('have the same word in the help of show as in the table', () => {
  const show = trialCommand().commands.find((command) => command.name() === 'show');
  expect(show?.helpInformation()).toMatch(/<trial>/);
  expect(show?.helpInformation().replaceAll(/\s+/g, ' ')).toContain(
    'as the column `trial` of `trial list` has it',
  );
});
