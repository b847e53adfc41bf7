// The agent's sandbox: one for each generation, closed before anything of the task runs.
import { afterEach, describe, expect, it } from 'vitest';
import { passBarrier } from '../../activities/barrier.ts';
import { takeDelta } from '../../activities/delta.ts';
import { runEpisode } from '../../activities/episode/run-episode.ts';
import { provision } from '../../activities/provision.ts';
import { generationId, sandboxName } from '../../activities/sandbox-names.ts';
import { resolveSubject } from '../../activities/subject.ts';
import { SandboxGone } from '../../sandbox/port.ts';
import { quiet, type Behaviour } from './fake-driver.ts';
import { openLab, type Lab, type LabOptions } from './lab.ts';

let lab: Lab;
afterEach(async () => {
  await lab.close();
});
const open = async (behaviour: Behaviour = quiet, options: Partial<LabOptions> = {}): Promise<void> => {
  lab = await openLab({ behaviourOf: () => behaviour, ...options });
  await lab.putGate({});
};
const health = { intervalSec: 0.01, timeoutSec: 1, startPeriodSec: 0, startIntervalSec: 0.01, retries: 2 };

describe('provision', () => {
  it('C43: answers the same sandbox when it is asked again, and makes no second one', async () => {
    await open();
    const first = await provision(lab.world, { subject: lab.trial() }, lab.run);
    const second = await provision(lab.world, { subject: lab.trial() }, lab.run);
    expect(second).toEqual(first);
    expect(await lab.world.driver.list({})).toHaveLength(1);
  });

  it('makes it with a baseline, for its delta', async () => {
    await open();
    await provision(lab.world, { subject: lab.trial() }, lab.run);
    expect(lab.driver.made.get('agent')?.baseline).toBe(true);
  });

  it('names sandboxes by store, sweep, trial and generation, within what a label takes', async () => {
    await open();
    const [one, two] = await Promise.all(
      [1, 2].map(async (generation) => resolveSubject(lab.world, lab.trial(generation))),
    );
    if (one === undefined || two === undefined) throw new Error('two gradings were asked for');
    const names = [
      sandboxName(generationId('store-a', one), 'verifier-restored-18-a99'),
      sandboxName(generationId('store-a', two), 'verifier-restored-18-a99'),
      sandboxName(generationId('store-b', one), 'verifier-restored-18-a99'),
    ];
    expect(new Set(names).size).toBe(3);
    for (const name of names) expect(name).toMatch(/^[a-z0-9-]{1,63}$/);
  });
});

describe('the network barrier', () => {
  it.each([
    ['open', 'EgressOpen'],
    ['unprovable', 'EgressUnprovable'],
    ['as-declared', 'EgressOpen'],
  ] as const)(
    'C49: a network that is %s stops it before anything of the task runs',
    async (network, failureClass) => {
      await open({ ...quiet, network });
      await provision(lab.world, { subject: lab.trial() }, lab.run);
      await expect(passBarrier(lab.world, { subject: lab.trial() }, lab.run)).rejects.toMatchObject({
        failureClass,
      });
      expect(lab.driver.made.get('agent')?.asked).toEqual(['proof']);
    },
  );

  it('lets a task have the network that it declares where the sweep says so', async () => {
    await open(
      { ...quiet, network: 'as-declared' },
      { plan: { network: 'as-declared' }, task: { networkMode: 'public' } },
    );
    await provision(lab.world, { subject: lab.trial() }, lab.run);
    await expect(passBarrier(lab.world, { subject: lab.trial() }, lab.run)).resolves.toBeUndefined();
  });

  it('waits for one success of the healthcheck', async () => {
    let tries = 0;
    const behaviour = { ...quiet, onRun: () => ({ exitCode: (tries += 1) < 2 ? 1 : 0 }) };
    await open(behaviour, { task: { healthcheck: { command: 'true', ...health } } });
    await provision(lab.world, { subject: lab.trial() }, lab.run);
    await passBarrier(lab.world, { subject: lab.trial() }, lab.run);
    expect(tries).toBe(2);
  });

  it('a later try of the activity asks its healthcheck anew, under ids that were not used', async () => {
    const ids: string[] = [];
    const behaviour: Behaviour = {
      ...quiet,
      onRun: ({ id }) => {
        ids.push(id);
        return { exitCode: ids.length < 3 ? 1 : 0 };
      },
    };
    await open(behaviour, { task: { healthcheck: { command: 'true', ...health } } });
    const subject = lab.trial();
    await provision(lab.world, { subject }, lab.run);
    await expect(passBarrier(lab.world, { subject }, lab.run)).rejects.toThrow(
      'the healthcheck exited with 1',
    );
    await passBarrier(lab.world, { subject }, { ...lab.run, attempt: 2 });
    expect(new Set(ids).size).toBe(3);
  });

  it("a healthcheck that never succeeds is the task's fault at the gate, and the machine's after it", async () => {
    const behaviour = { ...quiet, onRun: () => ({ exitCode: 1 }) };
    await open(behaviour, { task: { healthcheck: { command: 'false', ...health } } });
    await provision(lab.world, { subject: lab.trial() }, lab.run);
    await expect(passBarrier(lab.world, { subject: lab.trial() }, lab.run)).rejects.toMatchObject({
      failureClass: 'SandboxLost',
    });
  });
});

describe('the end of an episode', () => {
  it.each([
    ['open', 'EgressOpen'],
    ['unprovable', 'EgressUnprovable'],
  ] as const)(
    'C49: a network that is %s by then stops it before its delta is taken',
    async (later, failureClass) => {
      const behaviour = { ...quiet };
      await open(behaviour);
      await provision(lab.world, { subject: lab.trial() }, lab.run);
      await passBarrier(lab.world, { subject: lab.trial() }, lab.run);
      await runEpisode(lab.world, { subject: lab.trial(), step: 0 }, lab.run);
      const agent = lab.driver.made.get('agent');
      if (agent === undefined) throw new Error('the agent has a sandbox');
      agent.network = later;
      await expect(takeDelta(lab.world, { subject: lab.trial(), step: 0 }, lab.run)).rejects.toMatchObject({
        failureClass,
      });
      expect(agent.asked).not.toContain('delta');
    },
  );

  it('is not waited for where a policy may still come: the episode is over', async () => {
    await open();
    await lab.grade(lab.trial());
    expect(lab.driver.made.get('agent')?.settled).toEqual([20_000, 0]);
    expect(lab.driver.made.get('verifier-0')?.settled).toEqual([20_000]);
  });
});

describe('a sandbox that is not there any more', () => {
  const goneAs = async (cause: 'self' | 'platform', why: 'exited' | 'oom' | 'disk') => {
    await open();
    await provision(lab.world, { subject: lab.trial() }, lab.run);
    await passBarrier(lab.world, { subject: lab.trial() }, lab.run);
    const sandbox = lab.driver.made.get('agent');
    if (sandbox !== undefined) sandbox.now = { kind: 'gone', cause, why, reason: 'it ended' };
    lab.driver.open = () => Promise.reject(new SandboxGone({ kind: 'gone', cause, why, reason: 'it ended' }));
    await lab.world.sandboxes.release(sandbox?.identity.name ?? '');
    return runEpisode(lab.world, { subject: lab.trial(), step: 0 }, lab.run);
  };

  it.each([
    ['exited', 'agent-exit'],
    ['oom', 'agent-oom'],
    ['disk', 'agent-disk-full'],
  ] as const)('C38: by its own doing (%s) is the ending %s, and no free re-roll', async (why, ending) => {
    expect(await goneAs('self', why)).toEqual({ ending, turns: 0 });
  });

  it('by the platform is no ending: the trial starts over', async () => {
    await expect(goneAs('platform', 'exited')).rejects.toBeInstanceOf(SandboxGone);
  });
});
