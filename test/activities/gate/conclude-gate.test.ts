// The gate: the oracle must pass, a nop must not, and every other end is a reason.
import { afterEach, describe, expect, it } from 'vitest';
import { concludeGate } from '../../../activities/gate/conclude-gate.ts';
import { prepareTask } from '../../../activities/gate/prepare-task.ts';
import { readGate } from '../../../activities/gate/read-gate.ts';
import { readGateRecord } from '../../../activities/ground.ts';
import type { DeltaEntry } from '../../../domain/delta.ts';
import { quiet, type Behaviour } from '../fake-driver.ts';
import { gateKey, openLab, stepOf, type Lab, type LabOptions } from '../lab.ts';

const changed: DeltaEntry = {
  path: '/work/out.txt',
  change: 'added',
  kind: 'file',
  mode: 0o644,
  uid: 0,
  gid: 0,
  bytes: 1,
  target: null,
};
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
    expect(await readGateRecord(lab.world, gateKey)).toMatchObject({
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

  it('is not gated again while its images are what they were', async () => {
    await openGate(good);
    await formed();
    lab.driver.made.clear();
    const input = { sweep: 'lab', plan: lab.plan, task: 0 };
    expect(await prepareTask(lab.world, input, lab.run)).toEqual({ outcome: 'kept', reason: null });
    expect(lab.driver.made.size).toBe(0);
    lab.driver.images.ensure = () => Promise.resolve({ reference: 'image', digest: 'sha256:other' });
    expect(await prepareTask(lab.world, input, lab.run)).toMatchObject({ outcome: 'ready' });
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
    expect((await readGateRecord(lab.world, gateKey))?.message).toContain('speed, style');
  });

  it('this driver cannot run it: named', async () => {
    await openGate(good, { task: { needs: ['gpu'] } });
    expect(await formed()).toMatchObject({ reason: 'unsupported' });
    expect((await readGateRecord(lab.world, gateKey))?.message).toContain('gpu');
  });

  it('its side ended in a failure that the task owns', async () => {
    await openGate(good, { task: { environmentMode: 'separate' } });
    const input = { sweep: 'lab', plan: lab.plan, task: 0, environmentMode: 'separate' as const };
    expect(await concludeGate(lab.world, { ...input, oracle: null, nop: null })).toMatchObject({
      reason: 'oracle-fails',
    });
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
    expect(await readGate(lab.world, { plan: lab.plan, task: 0 })).toBeNull();
    expect(await formed()).toEqual({ outcome: 'unaudited', reason: 'no-oracle' });
    expect((await readGateRecord(lab.world, gateKey))?.oracleVerified).toBe(false);
  });
});
