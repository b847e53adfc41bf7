// The gate: cached or formed, both sides, shared mode where the gate asks for it, and platform failures told apart from the task's.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Activities, Subject } from '../../activities/types.ts';
import { gate } from '../../workflows/gate.ts';
import type { GateReport } from '../../workflows/reports.ts';
import { failureOf, fakeWorld, planRef, type FakeWorld } from '../support/fake-activities.ts';
import { startTestTemporal, type TestTemporal } from '../support/temporal-environment.ts';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(async () => {
  await temporal.stop();
});

const shape = { tasks: 1, attempts: [1], scaffolds: 1 };
let ids = 0;

async function run(world: FakeWorld): Promise<GateReport> {
  return await temporal.play(world.activities, async (scene) => {
    const handle = await scene.start(gate, `gate-${(ids += 1)}`, [{ sweep: 's', plan: planRef, task: 0 }]);
    return await handle.result();
  });
}

const kept = { task: 0, ended: { kind: 'formed', summary: { outcome: 'kept', reason: null } } };
const isAgent = (subject: Subject, agent: string): boolean =>
  subject.kind === 'gate' && subject.agent === agent;
const provisioned = Promise.resolve({ uid: 'u', host: 'h' });

describe('gate', () => {
  test('answers the cached record and runs nothing', async () => {
    const readGate: Activities['readGate'] = () =>
      Promise.resolve({ outcome: 'rejected', reason: 'nop-passes' });
    const world = fakeWorld(shape, { readGate });
    expect(await run(world)).toEqual({
      task: 0,
      ended: { kind: 'formed', summary: { outcome: 'rejected', reason: 'nop-passes' } },
    });
    expect(world.calls.map(({ name }) => name)).toEqual(['readGate']);
  });

  test('answers what preparing the task decides, and runs nothing', async () => {
    const prepareTask: Activities['prepareTask'] = () =>
      Promise.resolve({ outcome: 'rejected', reason: 'build-fails' });
    const world = fakeWorld(shape, { prepareTask });
    expect((await run(world)).ended).toMatchObject({ summary: { reason: 'build-fails' } });
    expect(world.count('provision')).toBe(0);
  });

  test('verifies the oracle and a nop, each in sandboxes that are removed, and concludes from both', async () => {
    const world = fakeWorld(shape);
    expect(await run(world)).toEqual(kept);
    for (const side of ['oracle 0 separate g1', 'nop 0 separate g1']) {
      expect(world.namesOf(side)).toEqual([
        'readTrial',
        'provision',
        'runEpisode',
        'takeDelta',
        'verify',
        'cleanUp',
      ]);
    }
    expect(world.calls.find(({ name }) => name === 'concludeGate')?.input).toMatchObject({
      environmentMode: 'separate',
      oracle: 1,
      nop: 1,
    });
  });

  test('tries both sides again in shared mode where the conclusion asks for it', async () => {
    const concludeGate: Activities['concludeGate'] = ({ environmentMode }) =>
      Promise.resolve(
        environmentMode === 'shared' ? { outcome: 'kept', reason: null } : { outcome: 'try-shared' },
      );
    const world = fakeWorld(shape, { concludeGate });
    expect(await run(world)).toEqual(kept);
    expect(world.namesOf('oracle 0 shared g2')).toContain('verify');
    expect(world.namesOf('nop 0 shared g2')).toContain('verify');
  });

  test('begins shared where the task asks for it', async () => {
    const prepareTask: Activities['prepareTask'] = () =>
      Promise.resolve({ outcome: 'ready', environmentMode: 'shared' });
    const world = fakeWorld(shape, { prepareTask });
    await run(world);
    expect(world.namesOf('oracle 0 shared g1')).toContain('verify');
    expect(world.namesOf('oracle 0 separate g1')).toEqual([]);
  });

  test('runs a side anew in fresh sandboxes where the platform lost it, and keeps a record of the loss', async () => {
    const provision: Activities['provision'] = ({ subject }) => {
      if (isAgent(subject, 'nop') && subject.generation < 3) throw failureOf('SandboxLost');
      return provisioned;
    };
    const world = fakeWorld(shape, { provision });
    expect(await run(world)).toEqual(kept);
    expect(world.count('recordFailure')).toBe(2);
    expect(world.count('cleanUp')).toBe(4);
    expect(world.calls.find(({ name }) => name === 'concludeGate')?.input).toMatchObject({
      oracle: 1,
      nop: 3,
    });
  });

  test('interrupted six times, it is begun anew each time at once, and formed', async () => {
    const provision: Activities['provision'] = ({ subject }) => {
      if (isAgent(subject, 'oracle') && subject.generation <= 6) throw failureOf('SandboxLost');
      return provisioned;
    };
    const recordFailure: Activities['recordFailure'] = () => Promise.resolve({ interrupted: true });
    const world = fakeWorld(shape, { provision, recordFailure });
    expect(await run(world)).toEqual(kept);
    expect(world.count('recordFailure')).toBe(6);
  });

  test('a side that the task itself breaks is concluded from, without a generation', async () => {
    const provision: Activities['provision'] = ({ subject }) => {
      if (isAgent(subject, 'oracle')) throw failureOf('TaskInvalid', 'its healthcheck fails', 'passBarrier');
      return provisioned;
    };
    const concludeGate: Activities['concludeGate'] = () =>
      Promise.resolve({ outcome: 'rejected', reason: 'oracle-fails' });
    const world = fakeWorld(shape, { provision, concludeGate });
    expect((await run(world)).ended).toMatchObject({ summary: { reason: 'oracle-fails' } });
    expect(world.calls.find(({ name }) => name === 'concludeGate')?.input).toMatchObject({
      oracle: null,
      nop: 1,
    });
  });

  test('is not formed where the platform never lets it, and names the class', async () => {
    const prepareTask = (): never => {
      throw failureOf('ImagePullTransient', '429 Too Many Requests');
    };
    const world = fakeWorld(shape, { prepareTask });
    expect(await run(world)).toEqual({
      task: 0,
      ended: {
        kind: 'unformed',
        failureClass: 'ImagePullTransient',
        message: 'prepareTask: 429 Too Many Requests',
      },
    });
    expect(world.count('prepareTask')).toBe(5);
  });
});
