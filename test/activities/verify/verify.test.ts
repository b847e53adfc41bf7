// Verification over a fake driver: what is laid, in which order, and what a doubtful word is checked against.
import { afterEach, describe, expect, it } from 'vitest';
import { takeDelta } from '../../../activities/delta.ts';
import { phases, readPhase, type VerifyRecord } from '../../../activities/phase-records.ts';
import { resolveSubject } from '../../../activities/subject.ts';
import { verify } from '../../../activities/verify/verify.ts';
import type { Subject } from '../../../activities/types.ts';
import type { DeltaManifest } from '../../../domain/delta.ts';
import { ClassifiedError } from '../../../domain/errors.ts';
import { SandboxGone } from '../../../sandbox/port.ts';
import { quiet, type Behaviour } from '../fake-driver.ts';
import { openLab, type Lab, type LabOptions } from '../lab.ts';
import { agentWith, fail, filling, leaving, pass, throwing, verificationRecord } from './behaviours.ts';
import { stepOf } from '../../support/task-data.ts';
import { deltaEntry } from '../../support/delta-entry.ts';

let lab: Lab;
afterEach(async () => {
  await lab.close();
});

async function graded(
  behaviours: Readonly<Record<string, Behaviour>>,
  options: Partial<LabOptions> = {},
): Promise<VerifyRecord> {
  lab = await openLab({ ...options, behaviourOf: (phase) => behaviours[phase] ?? quiet });
  await lab.putGate({});
  await lab.grade(lab.trial());
  return recordOf(lab.trial());
}

const recordOf = (subject: Subject): Promise<VerifyRecord> => verificationRecord(lab, subject);

/** With the oracle's delta stored, as a gate that was passed leaves it. */
async function withOracle(behaviours: Readonly<Record<string, Behaviour>>): Promise<void> {
  lab = await openLab({ behaviourOf: (phase) => behaviours[phase] ?? quiet });
  const nothing: DeltaManifest = {
    format: 'passband.delta',
    version: 1,
    entries: [],
    refused: [],
    missing: [],
    content: null,
  };
  const delta = await lab.world.store.putBlob(Buffer.from(JSON.stringify(nothing)));
  await lab.putGate({
    steps: [{ name: 'main', assertions: [], solutionPaths: [], delta, verifierMs: 5 }],
  });
}

describe('a separate verifier', () => {
  it('proves the network before the delta, lays the tests after it, and ends everything before the reward is read', async () => {
    const { verification } = await graded({ agent: agentWith('/work/out.txt'), 'verifier-0': leaving(pass) });
    expect(verification).toMatchObject({ result: 'passed', reward: 1 });
    expect(lab.driver.made.get('verifier-0')?.asked).toEqual([
      'proof',
      'put /',
      'put /tests',
      'remove /logs/verifier',
      'put /',
      'run /tests/test.sh',
      'end',
      'get /logs/verifier',
    ]);
  });

  it('C54: verifies without a declared artifact that is not there, names it, and the trial counts', async () => {
    const artifact = (source: string) => ({ source, destination: null, exclude: [], service: null });
    const step = stepOf({ artifacts: [artifact('/work/report.csv'), artifact('/work/lost.csv')] });
    const { verification } = await graded(
      { agent: agentWith('/work/report.csv'), 'verifier-0': leaving(fail) },
      { task: { steps: [step] } },
    );
    expect(verification).toMatchObject({ result: 'failed', reward: 0, missing: ['/work/lost.csv'] });
  });

  it('ends the processes of the agent before its last delta is taken', async () => {
    await graded({ 'verifier-0': leaving(pass) });
    const asked = lab.driver.made.get('agent')?.asked ?? [];
    expect(asked.indexOf('end')).toBeLessThan(asked.indexOf('delta'));
    expect(asked).toContain('end');
  });

  it('removes its sandbox, and answers from its record when it is asked again', async () => {
    await graded({ 'verifier-0': leaving(pass) });
    expect(lab.driver.destroyed.filter((name) => name.endsWith('verifier-0'))).toHaveLength(1);
    lab.driver.made.clear();
    expect(await verify(lab.world, { subject: lab.trial(), step: 0 }, lab.run)).toMatchObject({
      result: 'passed',
    });
    expect(lab.driver.made.size).toBe(0);
  });

  it('C58: takes no exit status for a word, neither for nor against', async () => {
    const record = await graded({ 'verifier-0': leaving(pass) });
    expect([record.exitCode, record.verification.result]).toEqual([1, 'passed']);
  });

  it('is disputed where what was withheld makes it pass, with both runs kept', async () => {
    const { verification, sandboxes } = await graded({
      agent: agentWith('/usr/local/bin/cat'),
      'verifier-0': leaving(fail),
      'verifier-restored-0': leaving(pass),
    });
    expect(verification).toMatchObject({
      result: 'disputed',
      detail: null,
      reward: 0,
      withheld: [{ path: '/usr/local/bin/cat', rule: 'shadowing' }],
    });
    expect(verification.restoredOutput).not.toBeNull();
    expect(sandboxes.map(({ phase }) => phase)).toEqual(['verifier', 'verifier-restored']);
  });

  it('is disputed where a setuid bit that was dropped makes it pass', async () => {
    const { verification, sandboxes } = await graded({
      agent: { ...quiet, entries: [deltaEntry('/work/helper', { mode: 0o4755 })] },
      'verifier-0': leaving(fail),
      'verifier-restored-0': leaving(pass),
    });
    expect(verification).toMatchObject({
      result: 'disputed',
      withheld: [{ path: '/work/helper', rule: 'special-bits' }],
    });
    expect(sandboxes).toHaveLength(2);
  });

  it('C40: one that outgrows its disk while its tests run is stopped, and counts as failed', async () => {
    const { verification } = await graded({ 'verifier-0': filling('/tests/test.sh') });
    expect(verification).toMatchObject({ result: 'failed', detail: 'no-reward', reward: null });
    expect(verification.warnings.join()).toContain('its limit is');
    expect(lab.driver.destroyed.some((name) => name.endsWith('verifier-0'))).toBe(true);
  });

  it('spends no second sandbox where nothing was withheld, or where it passed', async () => {
    await graded({ agent: agentWith('/work/out.txt'), 'verifier-0': leaving(fail) });
    expect(lab.driver.made.has('verifier-restored-0')).toBe(false);
    await lab.close();
    await graded({ agent: agentWith('/usr/local/bin/cat'), 'verifier-0': leaving(pass) });
    expect(lab.driver.made.has('verifier-restored-0')).toBe(false);
  });

  it('C51: an open network ends it before anything of the agent is laid', async () => {
    await expect(graded({ 'verifier-0': { ...quiet, network: 'open' } })).rejects.toMatchObject({
      failureClass: 'EgressOpen',
    });
    expect(lab.driver.made.get('verifier-0')?.asked).toEqual(['proof']);
  });

  it('C57: a cut of our own fetch of the reward is a failure, and never a 0', async () => {
    const cut = new ClassifiedError('ExecBroken', 'the connection was cut');
    await expect(graded({ 'verifier-0': { ...leaving(pass), getFails: cut } })).rejects.toBe(cut);
    const grading = await resolveSubject(lab.world, lab.trial());
    expect(await readPhase(lab.world, phases.verify(grading, 0))).toBeNull();
  });

  it('a verifier that the platform lost is no verdict', async () => {
    const lost = new SandboxGone({ kind: 'gone', cause: 'platform', why: 'deleted', reason: 'deleted' });
    await expect(graded({ 'verifier-0': throwing(lost) })).rejects.toBe(lost);
  });

  it('a later try of the activity begins in a sandbox of its own', async () => {
    const cut = new ClassifiedError('StoreUnavailable', 'cut');
    await expect(graded({ 'verifier-0': { ...quiet, getFails: cut } })).rejects.toBe(cut);
    const again = { ...lab.run, attempt: 2 };
    await verify(lab.world, { subject: lab.trial(), step: 0 }, again);
    expect([...lab.driver.made.keys()]).toContain('verifier-0-a2');
  });
});

describe('a doubtful end', () => {
  const oom = new SandboxGone({ kind: 'gone', cause: 'self', why: 'oom', reason: 'memory' });
  const exited = new SandboxGone({ kind: 'gone', cause: 'self', why: 'exited', reason: 'PID 1 ended' });
  const hangs: Behaviour = {
    ...quiet,
    onRun: ({ argv }) => (argv[0] === '/tests/test.sh' ? { timedOut: true, exitCode: 137 } : {}),
  };
  it.each<[string, Behaviour, string]>([
    ['C56: no reward', quiet, 'no-reward'],
    ['C27: a verifier that hangs', hangs, 'verifier-timeout'],
    ['C40: a verifier out of memory', throwing(oom), 'verifier-oom'],
    ['a verifier that was ended from inside', throwing(exited), 'no-reward'],
  ])('%s counts as failed where the oracle passes in the same place', async (_what, verifier, detail) => {
    await withOracle({ 'verifier-0': verifier, 'oracle-0': leaving(pass) });
    await lab.grade(lab.trial());
    expect((await recordOf(lab.trial())).verification).toMatchObject({
      result: 'failed',
      detail,
      reward: null,
    });
    expect(lab.driver.made.has('oracle-0')).toBe(true);
  });

  it('counts as failed where the agent’s own work leaves its verifier no room', async () => {
    const full = new SandboxGone({ kind: 'gone', cause: 'self', why: 'disk', reason: 'its files' });
    await withOracle({
      agent: agentWith('/work/big'),
      'verifier-0': { ...leaving(pass), putFails: full },
      'oracle-0': leaving(pass),
    });
    await lab.grade(lab.trial());
    expect((await recordOf(lab.trial())).verification).toMatchObject({ result: 'failed', reward: null });
  });

  it('is VerifierBroken where the oracle fails there too', async () => {
    await withOracle({ 'oracle-0': leaving(fail) });
    await expect(lab.grade(lab.trial())).rejects.toMatchObject({ failureClass: 'VerifierBroken' });
  });
});

describe('no final state', () => {
  it('is failed without a sandbox being spent on it', async () => {
    const { verification, goOn } = await graded({ agent: { ...quiet, overLimit: true } });
    expect(verification).toMatchObject({ result: 'failed', detail: 'no-final-state' });
    expect(goOn).toBe(false);
    expect([...lab.driver.made.keys()]).toEqual(['agent']);
    expect(await takeDelta(lab.world, { subject: lab.trial(), step: 0 }, lab.run)).toEqual({
      ending: 'agent-disk-full',
      finalState: false,
    });
  });
});

describe('the delta', () => {
  it('C40: a sandbox that outgrows its disk while it is taken ends as the agent’s own doing', async () => {
    const collect = [{ command: 'gather', service: 'main', timeoutSec: 60, user: null }];
    const { verification } = await graded({ agent: filling('gather') }, { task: { collect } });
    expect(verification).toMatchObject({ result: 'failed', detail: 'no-final-state' });
    expect(await takeDelta(lab.world, { subject: lab.trial(), step: 0 }, lab.run)).toEqual({
      ending: 'agent-disk-full',
      finalState: false,
    });
  });
});

describe('steps', () => {
  it('go on only where the bound of the step is met', async () => {
    const steps = [stepOf({ name: 'a', minReward: 0.5 }), stepOf({ name: 'b' })];
    const low = await graded(
      { 'verifier-0': leaving({ 'reward.txt': '0.4' }) },
      { task: { steps, multiStep: true } },
    );
    await lab.close();
    const high = await graded(
      { 'verifier-0': leaving({ 'reward.txt': '0.5' }) },
      { task: { steps, multiStep: true } },
    );
    expect([low.goOn, high.goOn]).toEqual([false, true]);
  });

  it('stand still between each other, and are not ended', async () => {
    const steps = [stepOf({ name: 'a' }), stepOf({ name: 'b' })];
    await graded({ 'verifier-0': leaving(pass) }, { task: { steps, multiStep: true } });
    const asked = lab.driver.made.get('agent')?.asked ?? [];
    expect(asked).toContain('pause');
    expect(asked).not.toContain('end');
  });
});
