// Labels: their rows and fields, and what they refuse.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Result } from '../../domain/failures.ts';
import { labelsOf, VerdictRowSchema, type LabelPlan, type VerdictRow } from '../../statistics/labels.ts';

const digest = (letter: string): string => letter.repeat(64);
const plan: LabelPlan = {
  sweep: 'first',
  tasks: [
    { id: 'org/b', digest: digest('b') },
    { id: 'org/a', digest: digest('a') },
    { id: 'org/rejected', digest: digest('c') },
  ],
  models: [
    { name: 'small', revision: 'r1', digest: digest('d'), attempts: 8 },
    { name: 'costly', revision: 'r2', digest: digest('e'), attempts: 2 },
  ],
  scaffolds: [{ name: 'terminus-2', digest: digest('f') }],
};
const gates = new Map([
  ['org/a', { outcome: 'kept', oracleVerified: true } as const],
  ['org/rejected', { outcome: 'rejected', oracleVerified: false } as const],
]);

type Row = Pick<VerdictRow, 'trial' | 'result'>;
function row(task: number, model: number, attempt: number, result: Result): Row {
  const [t, m, s] = [plan.tasks[task], plan.models[model], plan.scaffolds[0]];
  if (t === undefined || m === undefined || s === undefined) throw new Error('no such trial');
  return {
    trial: {
      sweep: plan.sweep,
      task: t.id,
      taskDigest: t.digest,
      model: m.name,
      modelRevision: m.revision,
      modelDigest: m.digest,
      scaffold: s.name,
      scaffoldVersion: '1',
      scaffoldDigest: s.digest,
      attempt,
    },
    result,
  };
}
const results = (task: number, model: number, ...list: Result[]): Row[] =>
  list.map((result, i) => row(task, model, i + 1, result));

describe('labels', () => {
  it('have one row a task, model and scaffold, in order, with every field', () => {
    const verdicts = [
      ...results(1, 0, 'passed', 'passed', 'failed', 'disputed', 'unstable', 'failed', 'passed'),
      ...results(0, 1, 'passed', 'passed'),
    ];
    const labels = labelsOf({ plan, gates, verdicts, splits: new Map([['org/b', 'train']]) });
    expect(labels.map(({ task, model }) => `${task} ${model}`)).toEqual([
      'org/a costly',
      'org/a small',
      'org/b costly',
      'org/b small',
    ]);
    expect(labels[1]).toEqual({
      task: 'org/a',
      model: 'small',
      scaffold: 'terminus-2',
      pass_rate: 3 / 7,
      band: 'central',
      n_counted: 7,
      k: 8,
      split: 'unseen',
      oracle_verified: true,
      passes: 3,
      ci_low: expect.closeTo(0.15822, 4) as unknown,
      ci_high: expect.closeTo(0.74954, 4) as unknown,
      p_central: expect.closeTo(0.82, 1) as unknown,
      coverage: 7 / 8,
      low: 3 / 8,
      high: 6 / 8,
      disputed: 1,
      unstable: 1,
      revision: 'r1',
    });
    expect(labels[2]).toMatchObject({
      band: 'always',
      pass_rate: 1,
      k: 2,
      coverage: 1,
      split: 'train',
      revision: 'r2',
    });
  });

  it('of a task that nothing was counted of are unmeasured, with no rate and no interval', () => {
    expect(labelsOf({ plan, gates, verdicts: [] })[0]).toEqual({
      task: 'org/a',
      model: 'costly',
      scaffold: 'terminus-2',
      pass_rate: null,
      band: 'unmeasured',
      n_counted: 0,
      k: 2,
      split: 'unseen',
      oracle_verified: true,
      passes: 0,
      ci_low: null,
      ci_high: null,
      p_central: expect.closeTo(1 / 3, 9) as unknown,
      coverage: 0,
      low: 0,
      high: 1,
      disputed: 0,
      unstable: 0,
      revision: 'r2',
    });
  });

  it('are not given to a task that the gate rejected, and say of one whose gate is to come that no oracle was verified', () => {
    const labels = labelsOf({ plan, gates, verdicts: [] });
    expect(labels.filter(({ task }) => task === 'org/rejected')).toEqual([]);
    expect(labels.find(({ task }) => task === 'org/b')?.oracle_verified).toBe(false);
  });

  it('C76: are the same, byte for byte, whatever order the verdicts come in', () => {
    const trial = fc.record({
      task: fc.constantFrom(0, 1),
      attempt: fc.integer({ min: 1, max: 8 }),
      result: fc.constantFrom<Result>('passed', 'failed', 'disputed', 'unstable'),
    });
    const shuffled = fc
      .uniqueArray(trial, { selector: ({ task, attempt }) => `${task} ${attempt}` })
      .map((trials) => trials.map(({ task, attempt, result }) => row(task, 0, attempt, result)))
      .chain((rows) => fc.tuple(fc.constant(rows), fc.shuffledSubarray(rows, { minLength: rows.length })));
    fc.assert(
      fc.property(shuffled, ([rows, other]) => {
        const [first, second] = [rows, other].map((verdicts) =>
          JSON.stringify(labelsOf({ plan, gates, verdicts })),
        );
        expect(second).toBe(first);
      }),
    );
  });

  it('do not change when tasks and models are planned in another order', () => {
    const verdicts = results(1, 0, 'passed', 'failed');
    const turned = { ...plan, tasks: [...plan.tasks].reverse(), models: [...plan.models].reverse() };
    expect(labelsOf({ plan: turned, gates, verdicts })).toEqual(labelsOf({ plan, gates, verdicts }));
  });

  it('C76: refuse two verdicts of one trial, naming it', () => {
    const verdicts = [row(1, 0, 3, 'passed'), row(1, 0, 3, 'failed')];
    expect(() => labelsOf({ plan, gates, verdicts })).toThrow(
      'there are two verdicts of first: task org/a, model small, scaffold terminus-2, attempt 3',
    );
  });

  it.each<[string, Partial<VerdictRow['trial']>]>([
    ['another sweep', { sweep: 'second' }],
    ['another task', { task: 'org/c' }],
    ['another content of the task', { taskDigest: digest('9') }],
    ['another revision of the model', { modelDigest: digest('9') }],
    ['another scaffold', { scaffold: 'nop' }],
    ['an attempt beyond k', { attempt: 9 }],
  ])('refuse a verdict of %s, naming it', (_, change) => {
    const { trial, result } = row(1, 0, 1, 'passed');
    const foreign = { trial: { ...trial, ...change }, result };
    expect(() => labelsOf({ plan, gates, verdicts: [foreign] })).toThrow(
      /^the verdict of .*task org\/., model small, scaffold .*, attempt \d belongs to no planned trial of sweep first/,
    );
  });

  it('refuse a verdict of a task that the gate rejected', () => {
    expect(() => labelsOf({ plan, gates, verdicts: [row(2, 0, 1, 'passed')] })).toThrow('task org/rejected');
  });

  it('take what they need of a whole verdict, and nothing of another format', () => {
    const whole = { format: 'passband.verdict', version: 1, ...row(1, 0, 1, 'passed'), more: 'of it' };
    expect(VerdictRowSchema.parse(whole)).not.toHaveProperty('more');
    expect(VerdictRowSchema.safeParse({ ...whole, version: 2 }).success).toBe(false);
    expect(VerdictRowSchema.safeParse({ ...whole, result: 'won' }).success).toBe(false);
  });
});
