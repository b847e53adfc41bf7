// The gate: the oracle must pass, a nop must not, and every other end is a reason.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { concludeGate } from '../../../activities/gate/conclude-gate.ts';
import { prepareTask } from '../../../activities/gate/prepare-task.ts';
import { readGate } from '../../../activities/gate/read-gate.ts';
import { readGround } from '../../../activities/ground.ts';
import { trialGrading } from '../../../activities/subject.ts';
import { readPlanOf } from '../../../activities/world.ts';
import { ClassifiedError } from '../../../domain/errors.ts';
import { GateRecordSchema, type GateRecord } from '../../../domain/gate.ts';
import { planKey, settingsKey, refusalKey, sweepGateKey } from '../../../domain/layout.ts';
import { PlanSchema, SweepSettingsSchema, type Plan } from '../../../domain/sweep.ts';
import { putJson, readJson } from '../../../store/objects.ts';
import { quiet, type Behaviour } from '../fake-driver.ts';
import { openLab, type Lab, type LabOptions } from '../lab.ts';
import { deltaEntry } from '../../support/delta-entry.ts';
import { settingsOf } from '../../support/sweep-data.ts';
import { stepOf } from '../../support/task-data.ts';

const changed = deltaEntry('/work/out.txt');
const ctrf = JSON.stringify({
  results: {
    tests: [
      { name: 'a', status: 'passed' },
      { name: 'b', status: 'failed' },
    ],
  },
});

let lab: Lab;
afterEach(async () => {
  await lab.close();
});

type Rewards = { readonly oracle: string | null; readonly nop: string | null };

/** A task whose tests leave one reward for the oracle's work and another for none. */
async function openGate({ oracle, nop }: Rewards, options: Partial<LabOptions> = {}): Promise<void> {
  let solved = false;
  const behaviour: Behaviour = {
    ...quiet,
    entries: [changed],
    onRun: ({ argv }, sandbox) => {
      if (argv[0] === 'sh' && argv[2]?.includes('solve.sh') === true) solved = true;
      if (argv[0] !== '/tests/test.sh') return {};
      const reward = solved ? oracle : nop;
      solved = false;
      if (reward !== null) sandbox.verifierFiles.set('reward.json', reward);
      sandbox.verifierFiles.set('ctrf.json', ctrf);
      return {};
    },
  };
  lab = await openLab({ behaviourOf: () => behaviour, ...options });
}

/** The record that the sweep stands on, or its refusal. */
async function storedGate(): Promise<GateRecord | null> {
  const { store } = lab.world;
  const keys = [sweepGateKey('lab', 'lab--task'), refusalKey('lab', 'lab--task')];
  for (const key of keys) {
    const record = await readJson(store, key, GateRecordSchema);
    if (record !== null) return record;
  }
  return null;
}

/** The same task in another sweep over the same store. */
async function openOther(name: string, fields: Partial<Plan> = {}): Promise<void> {
  const plan = await readJson(lab.world.store, planKey('lab'), PlanSchema);
  if (plan === null) throw new Error('the lab has no plan');
  const other = { ...plan, ...fields, sweep: name };
  const ref = await putJson(lab.world.store, planKey(name), PlanSchema, other);
  await putJson(lab.world.store, settingsKey(name), SweepSettingsSchema, settingsOf());
  lab = { ...lab, plan: ref };
}

async function formed(mode: 'separate' | 'shared' = 'separate') {
  const input = { sweep: 'lab', plan: lab.plan, task: 0 };
  const prepared = await prepareTask(lab.world, input, lab.run);
  if (prepared.outcome !== 'ready') return prepared;
  await lab.grade(lab.side('oracle', mode));
  await lab.grade(lab.side('nop', mode));
  return concludeGate(lab.world, { ...input, environmentMode: mode, oracle: 1, nop: 1 });
}

const good: Rewards = { oracle: '{"reward": 1}', nop: '{"reward": 0}' };

describe('a task that is kept', () => {
  it("holds later trials to the oracle's assertions and paths, and to the images it ran on", async () => {
    await openGate(good);
    expect(await formed()).toEqual({ outcome: 'kept', reason: null });
    expect(await storedGate()).toMatchObject({
      oracleVerified: true,
      environmentMode: 'separate',
      image: { digest: 'sha256:image' },
      steps: [{ name: 'main', assertions: ['a'], solutionPaths: ['/work/out.txt'] }],
    });
  });

  it('C56: a nop that leaves no reward has not passed', async () => {
    await openGate({ ...good, nop: null });
    expect(await formed()).toEqual({ outcome: 'kept', reason: null });
  });

  it('is not gated again in another sweep while its images are what they were', async () => {
    await openGate(good);
    await formed();
    const first = await storedGate();
    lab.driver.made.clear();
    await openOther('second');
    const input = { sweep: 'second', plan: lab.plan, task: 0 };
    expect(await prepareTask(lab.world, input, lab.run)).toEqual({ outcome: 'kept', reason: null });
    expect(lab.driver.made.size).toBe(0);
    const key = sweepGateKey('second', 'lab--task');
    expect(await readJson(lab.world.store, key, GateRecordSchema)).toEqual(first);
    await openOther('third');
    lab.driver.images.ensure = () => Promise.resolve({ reference: 'image', digest: 'sha256:other' });
    expect(await prepareTask(lab.world, { ...input, sweep: 'third', plan: lab.plan }, lab.run)).toMatchObject(
      {
        outcome: 'ready',
      },
    );
  });
});

describe('C09: the record that a sweep stands on', () => {
  const input = () => ({ sweep: 'lab', plan: lab.plan, task: 0 });
  const ground = async () => readGround(lab.world, trialGrading(await readPlanOf(lab.world, lab.plan), 0, 1));

  it('stays what it is when its image is built anew, and when it can no longer be built', async () => {
    await openGate(good);
    await formed();
    const first = await storedGate();
    lab.driver.images.ensure = () => Promise.resolve({ reference: 'image', digest: 'sha256:other' });
    expect(await readGate(lab.world, input())).toEqual({ outcome: 'kept', reason: null });
    expect(await prepareTask(lab.world, input(), lab.run)).toEqual({ outcome: 'kept', reason: null });
    lab.driver.images.ensure = () => Promise.reject(new ClassifiedError('ImageMissing', 'pruned'));
    expect(await prepareTask(lab.world, input(), lab.run)).toEqual({ outcome: 'kept', reason: null });
    expect(await storedGate()).toEqual(first);
    expect((await ground()).image.digest).toBe('sha256:image');
  });

  it('stays what it is when another sweep of the task is rejected', async () => {
    await openGate(good, { task: { steps: [stepOf({ solutionDir: null })] }, plan: { unaudited: true } });
    expect(await formed()).toMatchObject({ outcome: 'unaudited' });
    const own = lab.plan;
    await openOther('strict', { unaudited: false });
    const strict = { sweep: 'strict', plan: lab.plan, task: 0 };
    expect(await prepareTask(lab.world, strict, lab.run)).toMatchObject({ reason: 'no-oracle' });
    lab = { ...lab, plan: own };
    expect(await storedGate()).toMatchObject({ outcome: 'unaudited' });
    expect((await ground()).image.digest).toBe('sha256:image');
  });

  it('is the first that was written, where two tries conclude', async () => {
    await openGate(good);
    await formed();
    const first = await storedGate();
    const sides = { ...input(), environmentMode: 'separate' as const, oracle: 1, nop: 1 };
    expect(await concludeGate(lab.world, sides)).toEqual({ outcome: 'kept', reason: null });
    expect(await storedGate()).toEqual(first);
  });

  it('is read once by a worker, however many phases stand on it', async () => {
    await openGate(good);
    await formed();
    await ground();
    const get = vi.spyOn(lab.world.store, 'get');
    for (let phase = 0; phase < 5; phase += 1) await ground();
    expect(get).not.toHaveBeenCalled();
  });
});

describe('a task that was refused for what may be mended', () => {
  it('is tried again when the sweep is started again, and is refused to no other sweep', async () => {
    await openGate(good);
    const { images } = lab.driver;
    const ensure = images.ensure.bind(images);
    images.ensure = () => Promise.reject(new ClassifiedError('ImageMissing', 'no registry'));
    expect(await formed()).toEqual({ outcome: 'rejected', reason: 'build-fails' });
    expect(await storedGate()).toMatchObject({ outcome: 'rejected', message: 'no registry' });
    expect(await readGate(lab.world, { plan: lab.plan, task: 0 })).toBeNull();
    images.ensure = ensure;
    expect(await formed()).toEqual({ outcome: 'kept', reason: null });
    expect(await storedGate()).toMatchObject({ outcome: 'kept' });
  });
});

describe('a task that is rejected, with the reason', () => {
  it('C09: its oracle fails', async () => {
    await openGate({ ...good, oracle: '{"reward": 0}' }, { task: { environmentMode: 'separate' } });
    expect(await formed()).toEqual({ outcome: 'rejected', reason: 'oracle-fails' });
    expect(await readGate(lab.world, { plan: lab.plan, task: 0 })).toEqual({
      outcome: 'rejected',
      reason: 'oracle-fails',
    });
    await openOther('second');
    const second = { sweep: 'second', plan: lab.plan, task: 0 };
    expect(await prepareTask(lab.world, second, lab.run)).toMatchObject({ reason: 'oracle-fails' });
  });

  it('C10: its oracle fails without the network that the task declares', async () => {
    const task = { environmentMode: 'separate' as const, networkDeclared: true };
    await openGate({ ...good, oracle: null }, { task });
    expect(await formed()).toMatchObject({ reason: 'unsolvable-offline' });
  });

  it('a nop passes: the tests test nothing', async () => {
    await openGate({ ...good, nop: '{"reward": 1}' });
    expect(await formed()).toMatchObject({ reason: 'nop-passes' });
  });

  it('its reward is one of several keys: the operator must say which', async () => {
    await openGate({ ...good, oracle: '{"speed": 1, "style": 1}' });
    expect(await formed()).toMatchObject({ reason: 'ambiguous-reward' });
    expect((await storedGate())?.message).toContain('speed, style');
  });

  it('this driver cannot run it: named', async () => {
    await openGate(good, { task: { needs: ['gpu'] } });
    expect(await formed()).toMatchObject({ reason: 'unsupported' });
    expect((await storedGate())?.message).toContain('gpu');
  });

  it('its side ended in a failure that the task owns', async () => {
    await openGate(good, { task: { environmentMode: 'separate' } });
    const input = { sweep: 'lab', plan: lab.plan, task: 0, environmentMode: 'separate' as const };
    expect(await concludeGate(lab.world, { ...input, oracle: null, nop: null })).toMatchObject({
      reason: 'oracle-fails',
    });
    expect(await readGate(lab.world, { plan: lab.plan, task: 0 })).toBeNull();
  });
});

describe('a task that leaves its environment_mode unset', () => {
  it('is tried in shared mode where the oracle fails separately', async () => {
    await openGate({ ...good, oracle: null });
    expect(await formed()).toEqual({ outcome: 'try-shared' });
  });
});

describe('C09: a task without a solution', () => {
  const task = { steps: [stepOf({ solutionDir: null })] };
  it('is rejected, unless the sweep takes it unaudited', async () => {
    await openGate(good, { task });
    expect(await formed()).toEqual({ outcome: 'rejected', reason: 'no-oracle' });
    await lab.close();
    await openGate(good, { task, plan: { unaudited: true } });
    expect(await formed()).toEqual({ outcome: 'unaudited', reason: 'no-oracle' });
    expect((await storedGate())?.oracleVerified).toBe(false);
  });
});
