// What a sweep left in a store: read in the plan's order, incomplete or not, and refused by name where it is foreign.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GateRecordSchema } from '../../domain/gate.ts';
import { planKey, refusalKey, sweepGateKey, verdictKey } from '../../domain/layout.ts';
import { PlanSchema, type TrialInPlan } from '../../domain/sweep.ts';
import { VerdictSchema, type Verdict } from '../../domain/verdict.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';
import { putJson } from '../../store/objects.ts';
import type { Store } from '../../store/port.ts';
import {
  hasRefusals,
  listSweeps,
  readGates,
  readPlan,
  readVerdicts,
  trialsOf,
} from '../../store/verdicts.ts';
import { collect } from '../support/collect.ts';
import { gateOf, planOf, verdictOf } from '../support/sweep-data.ts';

let root: string;
let store: Store;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'passband-verdicts-'));
  store = openFilesystemStore(root);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const plan = planOf({ sweep: 'first', tasks: 3, models: { small: 3, costly: 1 } });
const trials = [...trialsOf(plan)];
const trialAt = (index: number): TrialInPlan => {
  const trial = trials[index];
  if (trial === undefined) throw new RangeError(`no trial ${index}`);
  return trial;
};
const putVerdict = (trial: TrialInPlan, change: Partial<Verdict> = {}): Promise<unknown> =>
  putJson(store, verdictKey(trial.path), VerdictSchema, { ...verdictOf(trial, 'passed'), ...change });

describe('sweeps', () => {
  it('are listed by the plans that are there, whatever else lies beside them', async () => {
    for (const sweep of ['second', 'first', 'first-b']) {
      await putJson(store, planKey(sweep), PlanSchema, { ...plan, sweep });
    }
    await store.put('v1/sweeps/half/settings.json', Buffer.from('{}'));
    await putVerdict(trialAt(0));
    expect((await collect(listSweeps(store))).sort()).toEqual(['first', 'first-b', 'second']);
  });

  it('give their plan back, and a sweep that is not there is bad input in one line', async () => {
    await putJson(store, planKey('first'), PlanSchema, plan);
    expect(await readPlan(store, 'first')).toEqual(plan);
    await expect(readPlan(store, 'frist')).rejects.toMatchObject({
      name: 'InputError',
      message: expect.stringMatching(
        /^no sweep "frist" in file:.*: passband sweep list --store 'file:.*' shows/,
      ) as unknown,
    });
  });

  it('give their gate records by task, or their refusals, without those that are still to come', async () => {
    const [one, two] = plan.tasks.map((task) => gateOf(task));
    if (one === undefined || two === undefined) throw new Error('no tasks');
    const refused = { ...two, outcome: 'rejected' as const, reason: 'build-fails' as const };
    await putJson(store, sweepGateKey('first', 'org--task-0000'), GateRecordSchema, one);
    await putJson(store, refusalKey('first', 'org--task-0000'), GateRecordSchema, {
      ...refused,
      task: one.task,
    });
    expect(await hasRefusals(store, 'first')).toBe(false);
    await putJson(store, refusalKey('first', 'org--task-0001'), GateRecordSchema, refused);
    expect(await hasRefusals(store, 'first')).toBe(true);
    expect(await readGates(store, plan, GateRecordSchema)).toEqual(
      new Map([one, refused].map((gate) => [gate.task, gate])),
    );
  });

  it('C09: give the gate that the sweep itself stands on, whatever another sweep of the task found', async () => {
    const [gate] = plan.tasks.map((task) => gateOf(task));
    if (gate === undefined) throw new Error('no tasks');
    const other = { ...gate, outcome: 'rejected' as const, reason: 'no-oracle' as const };
    await putJson(store, sweepGateKey('first', 'org--task-0000'), GateRecordSchema, gate);
    await putJson(store, sweepGateKey('second', 'org--task-0000'), GateRecordSchema, other);
    expect((await readGates(store, plan, GateRecordSchema)).get(gate.task)?.outcome).toBe('kept');
    const second = await readGates(store, { ...plan, sweep: 'second' }, GateRecordSchema);
    expect(second.get(gate.task)?.outcome).toBe('rejected');
  });
});

describe('verdicts', () => {
  it('come in the plan’s order, without the trials that have none', async () => {
    for (const index of [10, 0, 7, 4]) await putVerdict(trialAt(index));
    const found = await collect(readVerdicts(store, plan, VerdictSchema));
    expect(found.map(({ trial }) => trial.index)).toEqual([0, 4, 7, 10]);
    expect(found[1]?.verdict).toEqual(verdictOf(trialAt(4), 'passed'));
  });

  it('cover every trial of the plan once, attempt by attempt', () => {
    expect(trials).toHaveLength(12);
    expect(new Set(trials.map(({ path: at }) => verdictKey(at)))).toHaveProperty('size', 12);
    expect(trials.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
  });

  it.each<[string, Partial<Verdict['trial']>, string]>([
    ['another sweep', { sweep: 'second' }, 'its sweep is second, planned is first'],
    ['another task', { task: 'org/other' }, 'its task is org/other, planned is org/task-0000'],
    ['another content of the task', { taskDigest: 'f'.repeat(64) }, 'its taskDigest is fff'],
    ['another revision of the model', { modelDigest: 'f'.repeat(64) }, 'its modelDigest is fff'],
    ['another attempt', { attempt: 2 }, 'its attempt is 2, planned is 1'],
  ])('of %s under a trial’s key are refused, naming the object', async (_, change, message) => {
    const trial = trialAt(0);
    await putVerdict(trial, { trial: { ...verdictOf(trial, 'passed').trial, ...change } });
    const refused = collect(readVerdicts(store, plan, VerdictSchema));
    await expect(refused).rejects.toThrow(
      'stored object v1/sweeps/first/trials/org--task-0000/small/terminus-2/01/verdict.json is not the verdict of first/org--task-0000/small/terminus-2/01',
    );
    await expect(refused).rejects.toThrow(message);
  });

  it('of a newer version are refused by name', async () => {
    const text = JSON.stringify({ ...verdictOf(trialAt(3), 'passed'), version: 2 });
    await store.put(verdictKey(trialAt(3).path), Buffer.from(text));
    await expect(collect(readVerdicts(store, plan, VerdictSchema))).rejects.toThrow(
      /verdict\.json has passband\.verdict version 2, this passband reads version 1/,
    );
  });

  it('are asked for a few at a time, and no more once the reader stops', async () => {
    for (const trial of trials) await putVerdict(trial);
    let asked = 0;
    const counting: Pick<Store, 'get'> = {
      get(key) {
        asked += 1;
        return store.get(key);
      },
    };
    const wide = planOf({ sweep: 'first', tasks: 3, models: { small: 400, costly: 1 } });
    const watched = new Proxy(store, {
      get: (target, name) => (name === 'get' ? counting.get : (Reflect.get(target, name) as unknown)),
    });
    for await (const { trial } of readVerdicts(watched, wide, VerdictSchema)) {
      expect(trial.index).toBe(0);
      break;
    }
    expect(asked).toBeLessThan(100);
  });
});
