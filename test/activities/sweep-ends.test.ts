// Both ends of a sweep, and how long what it makes may live.
import { afterEach, describe, expect, it } from 'vitest';
import { provision } from '../../activities/provision.ts';
import { lifetimeSecOf } from '../../activities/sandbox-lifetime.ts';
import { beginSweep, finishSweep } from '../../activities/sweep-ends.ts';
import { storeLabel } from '../../domain/sandbox-labels.ts';
import { limits, stepOf } from '../support/task-data.ts';
import { quiet } from './fake-driver.ts';
import { openLab, type Lab } from './lab.ts';

let lab: Lab;
afterEach(async () => {
  await lab.close();
});

describe('a sweep', () => {
  it('surveys at its start what its proofs are held against, and not for each of them again', async () => {
    lab = await openLab({ behaviourOf: () => quiet });
    await lab.putGate({});
    await beginSweep(lab.world, { sweep: 'lab' }, lab.run);
    await lab.grade(lab.trial());
    expect(lab.driver.surveyed).toBeLessThan(3);
    expect(lab.driver.surveyed).toBeGreaterThan(0);
  });

  it('removes all of it at its end, and nothing of another', async () => {
    lab = await openLab({ behaviourOf: () => quiet });
    await lab.putGate({});
    await provision(lab.world, { subject: lab.trial() }, lab.run);
    const [own] = await lab.driver.list({});
    const labels: Readonly<Record<string, string>> = { ...own?.labels, 'passband.sweep': 'other' };
    const other = {
      name: 'pb-0-agent',
      image: { reference: 'image', digest: 'sha256:image' },
      labels,
      cpus: 1,
      memoryMiB: 64,
      diskMiB: 64,
      pids: 64,
      env: {},
      workdir: null,
      network: 'deny' as const,
      baseline: true,
      lifetimeSec: 60,
    };
    await lab.driver.create(other);
    await finishSweep(lab.world, { sweep: 'lab' });
    expect((await lab.driver.list({})).map(({ name }) => name)).toEqual(['pb-0-agent']);
    expect(labels[storeLabel]).toBe(await lab.world.storeId());
  });
});

describe('a sandbox', () => {
  it('lives at least for every limit of its task and an outage of 12 hours, and not for ever', () => {
    const short = lifetimeSecOf({ limits, steps: [stepOf()] });
    const step = limits.agentSec.value + limits.verifierSec.value;
    expect(short).toBeGreaterThan(limits.setupSec.value + step + 12 * 3_600);
    expect(short).toBeLessThan(24 * 3_600);
    expect(lifetimeSecOf({ limits, steps: [stepOf(), stepOf()] })).toBeGreaterThanOrEqual(short + step);
  });
});
