// Network proofs of sandboxes: what cannot be tried is looked at again, and what an agent does about it decides nothing.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeDelta } from '../../../activities/delta.ts';
import { proveClosed, proveStillClosed, type ProofOf } from '../../../activities/egress/prove.ts';
import { runEpisode } from '../../../activities/episode/run-episode.ts';
import { passBarrier } from '../../../activities/barrier.ts';
import { provision } from '../../../activities/provision.ts';
import { resolveSubject } from '../../../activities/subject.ts';
import { UntriedProof } from '../../../sandbox/egress.ts';
import { stepOf } from '../../support/task-data.ts';
import { FakeSandbox, quiet } from '../fake-driver.ts';
import { openLab, type Lab, type LabOptions } from '../lab.ts';

let lab: Lab;
afterEach(async () => {
  await lab.close();
});
const open = async (options: Partial<LabOptions> = {}): Promise<void> => {
  lab = await openLab({ behaviourOf: () => quiet, ...options });
};

const image = { reference: 'image', digest: 'sha256:image' };
const alone = { user: null, mounts: [], shmMiB: null, ports: [] };
/** With services beside it, where asked for. */
function sandboxOf(services: readonly string[] = []): FakeSandbox {
  const rest = { env: {}, workdir: null, cpus: 1, memoryMiB: 64, startsImage: true };
  const sidecars = services.map((name) => ({ name, image, ...alone, ...rest }));
  return new FakeSandbox(
    {
      ...{ name: 'pb-0-agent', image, labels: {}, cpus: 1, memoryMiB: 64, diskMiB: 64, pids: 64, env: {} },
      ...{ workdir: null, network: 'deny', baseline: true, lifetimeSec: 60 },
      ...(services.length === 0 ? {} : { services: { main: alone, sidecars, hosts: [] } }),
    },
    quiet,
  );
}
const proofOf = async (sandbox: FakeSandbox): Promise<ProofOf> => ({
  sandbox,
  grading: await resolveSubject(lab.world, lab.trial()),
  run: lab.run,
});
const gone = { kind: 'gone', cause: 'platform', why: 'deleted', reason: 'no such pod' } as const;

describe('a proof whose targets cannot be tried', () => {
  beforeEach(() => open());

  it('is made again in place before anything of the task runs', async () => {
    const sandbox = sandboxOf();
    sandbox.untried = 3;
    expect((await proveClosed(lab.world, await proofOf(sandbox))).outcome).toBe('denied');
    expect(sandbox.asked).toEqual(['proof', 'proof', 'proof', 'proof']);
  });

  it("is the platform's failure where it stays so: a new generation, and nothing that stops the sweep", async () => {
    const sandbox = sandboxOf();
    sandbox.untried = Infinity;
    const proving = proveClosed(lab.world, await proofOf(sandbox));
    await expect(proving).rejects.toBeInstanceOf(UntriedProof);
    await expect(proving).rejects.toMatchObject({ failureClass: 'ExecBroken' });
    expect(new Set(sandbox.asked)).toEqual(new Set(['proof']));
  });

  it('is made again at the end too, and nothing is ended where that is enough', async () => {
    const sandbox = sandboxOf();
    sandbox.untried = 3;
    const { network, warnings } = await proveStillClosed(lab.world, await proofOf(sandbox));
    expect([network.outcome, warnings]).toEqual(['denied', []]);
    expect(sandbox.asked).toEqual(['proof', 'proof', 'proof', 'proof']);
  });

  it('is made at the end with nothing left that could hold every port, services included', async () => {
    const sandbox = sandboxOf(['api', 'db']);
    sandbox.untried = null;
    const { network, warnings } = await proveStillClosed(lab.world, await proofOf(sandbox));
    expect(network.outcome).toBe('denied');
    expect(warnings).toEqual([expect.stringContaining('was ended') as unknown]);
    expect(sandbox.asked.slice(-2)).toEqual(['end', 'proof']);
    expect([...sandbox.services.values()].map(({ asked }) => asked)).toEqual([['end'], ['end']]);
  });

  it('waits for no service that is gone', async () => {
    const sandbox = sandboxOf(['api', 'db']);
    const api = sandbox.services.get('api');
    if (api === undefined) throw new Error('api is a service');
    api.now = gone;
    // Longer than anything is looked at in place.
    sandbox.untried = 10;
    expect((await proveStillClosed(lab.world, await proofOf(sandbox))).network.outcome).toBe('denied');
    expect(sandbox.services.get('db')?.asked).toEqual(['end']);
  });

  it('lets no network pass that is open once it can be tried', async () => {
    const sandbox = sandboxOf();
    sandbox.untried = null;
    sandbox.network = 'open';
    await expect(proveStillClosed(lab.world, await proofOf(sandbox))).rejects.toMatchObject({
      failureClass: 'EgressOpen',
    });
  });

  it('stops no sweep where it stays so at the end, and the wait is longer than a port stays taken', async () => {
    const sandbox = sandboxOf();
    sandbox.untried = Infinity;
    await expect(proveStillClosed(lab.world, await proofOf(sandbox))).rejects.toMatchObject({
      failureClass: 'ExecBroken',
    });
    const looksAtRest = sandbox.asked.length - 1 - sandbox.asked.indexOf('end');
    const lookMs = 3_000;
    expect((looksAtRest - 1) * lookMs).toBeGreaterThan(65_000);
  });

  it('ends at once when it is told to', async () => {
    const sandbox = sandboxOf();
    sandbox.untried = Infinity;
    const stop = new AbortController();
    const of = await proofOf(sandbox);
    const proving = proveClosed(lab.world, { ...of, run: { signal: stop.signal } });
    stop.abort(new Error('cancelled'));
    await expect(proving).rejects.toThrow();
    expect(sandbox.asked.length).toBeLessThan(3);
  });
});

describe('the proof at the end of a step', () => {
  const orderIn = async (step: number, options: Partial<LabOptions>, mode: 'separate' | 'shared') => {
    await open(options);
    await lab.putGate({ environmentMode: mode });
    const subject = lab.trial();
    await provision(lab.world, { subject }, lab.run);
    await passBarrier(lab.world, { subject }, lab.run);
    await runEpisode(lab.world, { subject, step }, lab.run);
    const before = lab.driver.made.get('agent')?.asked.length ?? 0;
    await takeDelta(lab.world, { subject, step }, lab.run);
    const asked = lab.driver.made.get('agent')?.asked.slice(before) ?? [];
    return asked.filter((one) => ['proof', 'pause', 'end', 'delta'].includes(one));
  };

  it('is made when nothing of the agent runs any more that could get into its way', async () => {
    expect(await orderIn(0, {}, 'separate')).toEqual(['end', 'proof', 'delta']);
  });

  it('is made between steps while everything stands still', async () => {
    const steps = [stepOf({ name: 'one' }), stepOf({ name: 'two' })];
    expect(await orderIn(0, { task: { steps } }, 'separate')).toEqual(['pause', 'proof', 'delta']);
  });

  it('is made in shared mode beside what runs, which its tests may need', async () => {
    expect(await orderIn(0, {}, 'shared')).toEqual(['proof', 'delta']);
  });
});
