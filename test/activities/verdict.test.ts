// Verdicts and failure records: once, from the phases' records, and known to whoever begins anew.
import { afterEach, describe, expect, it } from 'vitest';
import { cleanUp } from '../../activities/clean-up.ts';
import { classOf } from '../../activities/translate.ts';
import { readDone, readPlan, readTrial } from '../../activities/trial-state.ts';
import { provision } from '../../activities/provision.ts';
import { recordFailure, recordVerdict } from '../../activities/verdict.ts';
import { failureKey, interruptionKey, settingsKey, verdictKey, type TrialPath } from '../../domain/layout.ts';
import { InterruptionSchema } from '../../domain/sweep.ts';
import { FailureRecordSchema, VerdictSchema } from '../../domain/verdict.ts';
import { putJson, readJson } from '../../store/objects.ts';
import { quiet, type Behaviour } from './fake-driver.ts';
import { openLab, type Lab } from './lab.ts';
import { stepOf } from '../support/task-data.ts';

const trial: TrialPath = { sweep: 'lab', task: 'lab--task', model: 'm', scaffold: 'nop', attempt: 1 };
const passes: Behaviour = {
  ...quiet,
  onRun: ({ argv }, sandbox) => {
    if (argv[0] === '/tests/test.sh') sandbox.verifierFiles.set('reward.txt', '1\n');
    return {};
  },
};

let lab: Lab;
afterEach(async () => {
  await lab.close();
});
const open = async (options: Partial<Parameters<typeof openLab>[0]> = {}): Promise<void> => {
  lab = await openLab({ behaviourOf: (phase) => (phase === 'agent' ? quiet : passes), ...options });
  await lab.putGate({});
};

describe('recordVerdict', () => {
  it('C02: names what each limit is and who set it, and where the trial ran', async () => {
    const agentSec = { value: 30, setBy: 'task' as const };
    await open({ task: { steps: [stepOf({ agentSec })], networkDeclared: true } });
    await lab.grade(lab.trial());
    const outcome = await recordVerdict(lab.world, { subject: lab.trial(), reached: 1 });
    expect(outcome).toEqual({
      counts: true,
      ending: 'completed',
      result: 'passed',
      failure: null,
      generations: 1,
    });
    const verdict = await readJson(lab.world.store, verdictKey(trial), VerdictSchema);
    expect(verdict).toMatchObject({
      result: 'passed',
      reward: 1,
      environmentMode: 'separate',
      networkWithheld: true,
      oracleVerified: true,
      limits: {
        agentSec,
        cpus: { value: 1, setBy: 'default' },
        memoryMiB: { value: 2048, setBy: 'default' },
      },
    });
    const proofs = verdict?.sandboxes.map(({ phase, network, networkAtEnd }) => [
      phase,
      network.outcome,
      networkAtEnd?.outcome,
    ]);
    expect(proofs).toEqual([
      ['agent', 'denied', 'denied'],
      ['verifier', 'denied', undefined],
    ]);
  });

  it('C40: says of each sandbox what a process that is out of memory takes with it', async () => {
    await open();
    await lab.grade(lab.trial());
    for (const sandbox of lab.driver.made.values()) expect(sandbox.memoryEnds).toBe('process');
    await recordVerdict(lab.world, { subject: lab.trial(), reached: 1 });
    const verdict = await readJson(lab.world.store, verdictKey(trial), VerdictSchema);
    expect(verdict?.sandboxes.map(({ phase, memoryEnds }) => [phase, memoryEnds])).toEqual([
      ['agent', 'process'],
      ['verifier', 'process'],
    ]);
  });

  it('of a time before either was looked at is read as it was written', async () => {
    await open();
    await lab.grade(lab.trial());
    await recordVerdict(lab.world, { subject: lab.trial(), reached: 1 });
    const written = Buffer.from((await lab.world.store.get(verdictKey(trial))) ?? []).toString();
    const older = written
      .replaceAll(/"networkAtEnd":(null|\{"outcome".*?"at":"[^"]*"\}),?/g, '')
      .replaceAll(/"memoryEnds":"process",?/g, '')
      .replaceAll(',}', '}');
    expect(older).not.toMatch(/networkAtEnd|memoryEnds/);
    await lab.world.store.put(verdictKey(trial), Buffer.from(older));
    const verdict = await readJson(lab.world.store, verdictKey(trial), VerdictSchema);
    const told = verdict?.sandboxes.map(({ networkAtEnd, memoryEnds }) => [networkAtEnd, memoryEnds]);
    expect(told).toEqual([
      [null, null],
      [null, null],
    ]);
  });

  it('is written once: the one that stands is the answer, whatever a later generation found', async () => {
    await open();
    await lab.grade(lab.trial());
    await recordVerdict(lab.world, { subject: lab.trial(), reached: 1 });
    const before = await lab.world.store.get(verdictKey(trial));
    const second = await recordVerdict(lab.world, { subject: lab.trial(2), reached: 1 });
    expect(second).toMatchObject({ result: 'passed', generations: 1 });
    expect(await lab.world.store.get(verdictKey(trial))).toEqual(before);
  });

  it('counts a planned step that was not reached', async () => {
    await open({ task: { steps: [stepOf({ name: 'a' }), stepOf({ name: 'b' })], multiStep: true } });
    await lab.grade(lab.trial());
    expect(await recordVerdict(lab.world, { subject: lab.trial(), reached: 1 })).toMatchObject({
      result: 'failed',
    });
    const verdict = await readJson(lab.world.store, verdictKey(trial), VerdictSchema);
    expect(verdict).toMatchObject({ detail: 'step-unreached', reward: 0.5, ending: 'completed' });
    expect(verdict?.steps.map(({ reached }) => reached)).toEqual([true, false]);
  });
});

describe('a generation that came to nothing', () => {
  const failed = { failureClass: 'SandboxLost', phase: 'runEpisode', message: 'node lost' } as const;

  it('C30: leaves its class and its evidence, once, and no verdict', async () => {
    await open();
    await lab.grade(lab.trial());
    await recordFailure(lab.world, { subject: lab.trial(), ...failed });
    await recordFailure(lab.world, { subject: lab.trial(), ...failed, message: 'again' });
    const record = await readJson(lab.world.store, failureKey(trial, 1), FailureRecordSchema);
    expect(record).toMatchObject({ ...failed, generation: 1, trial: { attempt: 1, model: 'm' } });
    expect(record?.sandboxes).toHaveLength(1);
    expect(await lab.world.store.get(verdictKey(trial))).toBeNull();
  });

  it('says that it was interrupted where a command of ours removed its sandbox, and nothing else did', async () => {
    await open();
    const loss = { subject: lab.trial(), ...failed };
    const at = async (when: number): Promise<void> => {
      await putJson(lab.world.store, interruptionKey('lab'), InterruptionSchema, {
        format: 'passband.interruption',
        version: 1,
        at: new Date(when).toISOString(),
      });
    };
    await at(Date.now());
    expect(await recordFailure(lab.world, { ...loss, subject: lab.trial(7) })).toEqual({
      interrupted: false,
    });
    await at(Date.now() - 60_000);
    await lab.grade(lab.trial());
    expect(await recordFailure(lab.world, loss)).toEqual({ interrupted: false });
    await at(Date.now());
    expect(await recordFailure(lab.world, loss)).toEqual({ interrupted: true });
    expect(await recordFailure(lab.world, { ...loss, failureClass: 'VerifierBroken' })).toEqual({
      interrupted: false,
    });
  });

  it('is never gone on with: the next one begins after whatever left anything', async () => {
    await open();
    expect((await readTrial(lab.world, { subject: lab.trial() })).generation).toBe(1);
    await recordFailure(lab.world, { subject: lab.trial(1), ...failed });
    expect((await readTrial(lab.world, { subject: lab.trial() })).generation).toBe(2);
    await lab.grade(lab.trial(4));
    expect((await readTrial(lab.world, { subject: lab.trial() })).generation).toBe(5);
  });

  it('C42: has every sandbox of its own removed, and none of another', async () => {
    await open();
    for (const generation of [1, 2]) await provision(lab.world, { subject: lab.trial(generation) }, lab.run);
    await cleanUp(lab.world, { subject: lab.trial(1) });
    const left = await lab.world.driver.list({ 'passband.sweep': 'lab' });
    expect(left.map(({ labels }) => labels['passband.trial'])).toEqual(['lab--task/m/nop/01.g2']);
  });
});

describe('a sweep that is started again', () => {
  it('C77: finds the trials that are done by their place in the plan', async () => {
    await open();
    const all = { sweep: 'lab', plan: lab.plan, first: 0, count: 4 };
    expect(await readDone(lab.world, all)).toEqual({ runs: [], endings: {}, results: {} });
    await lab.grade(lab.trial());
    await recordVerdict(lab.world, { subject: lab.trial(), reached: 1 });
    expect(await readDone(lab.world, all)).toEqual({
      runs: [[0, 1]],
      endings: { completed: 1 },
      results: { passed: 1 },
    });
    expect((await readTrial(lab.world, { subject: lab.trial() })).done).toMatchObject({ result: 'passed' });
  });

  it('goes on beside a verdict that cannot be read, which is its own trial’s failure', async () => {
    await open();
    await lab.world.store.put(verdictKey(trial), Buffer.from('{ cut'));
    await lab.world.store.put(verdictKey({ ...trial, attempt: 2 }), Buffer.from('{"format":"other"}'));
    const all = { sweep: 'lab', plan: lab.plan, first: 0, count: 4 };
    expect((await readDone(lab.world, all)).runs).toEqual([]);
    const reading = readTrial(lab.world, { subject: lab.trial() });
    await expect(reading).rejects.toSatisfy((error) => classOf(error) === 'Unexpected');
  });

  it('stops where its own settings cannot be read', async () => {
    await open();
    await lab.world.store.put(settingsKey('lab'), Buffer.from('{ cut'));
    const reading = readPlan(lab.world, { sweep: 'lab', plan: lab.plan });
    await expect(reading).rejects.toSatisfy((error) => classOf(error) === 'ConfigInvalid');
  });
});
