// What the reaper takes and what it lets be.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { provision } from '../../activities/provision.ts';
import { readStoreId } from '../../store/store-id.ts';
import { quiet } from '../activities/fake-driver.ts';
import { openLab, type Lab } from '../activities/lab.ts';
import { storeLabel, workflowLabel } from '../../domain/sandbox-labels.ts';
import { reap, startReaper, type ReaperParts } from '../../worker/reaper.ts';
import type { WorkflowState } from '../../worker/workflow-states.ts';

const now = new Date('2026-01-03T12:00:00.000Z');
const minutesAgo = (minutes: number): string => new Date(now.getTime() - minutes * 60_000).toISOString();

interface Scene {
  readonly state: WorkflowState | Error;
  readonly createdAt: string;
  readonly labels?: Readonly<Record<string, string>>;
}

function sceneOf({ state, createdAt, labels }: Scene) {
  const destroyed: string[] = [];
  const warned: string[] = [];
  const asked: string[] = [];
  const sandbox = {
    name: 'pb-1-agent',
    labels: labels ?? { [storeLabel]: 'store-a', [workflowLabel]: 'trial-s-0' },
    createdAt,
  };
  const parts: ReaperParts = {
    driver: {
      list: (wanted) =>
        Promise.resolve(
          [sandbox].filter((one) =>
            Object.entries(wanted).every(([key, value]) => one.labels[key] === value),
          ),
        ),
      destroy: (name) => {
        destroyed.push(name);
        return Promise.resolve();
      },
    },
    storeId: () => Promise.resolve('store-a'),
    stateOf: (workflow) => {
      asked.push(workflow);
      return state instanceof Error ? Promise.reject(state) : Promise.resolve(state);
    },
    log: { info: () => undefined, warn: (_fields: unknown, message?: string) => warned.push(message ?? '') },
    now: () => now,
  };
  return { parts, destroyed, warned, asked };
}

describe('the reaper', () => {
  it.each([
    ['closed', 6],
    ['unknown', 25 * 60],
  ] as const)(
    'C42: removes what a killed worker left once its workflow is %s and it is %i minutes old',
    async (state, minutes) => {
      const { parts, destroyed, asked } = sceneOf({ state, createdAt: minutesAgo(minutes) });
      await reap(parts);
      expect(destroyed).toEqual(['pb-1-agent']);
      expect(asked).toEqual(['trial-s-0']);
    },
  );

  it.each([
    ['of a workflow that runs, however old', { state: 'running', createdAt: minutesAgo(10_000) }],
    ['that is being made', { state: 'closed', createdAt: minutesAgo(1) }],
    ['of a workflow that this server does not know', { state: 'unknown', createdAt: minutesAgo(60) }],
    [
      'of another store',
      {
        state: 'closed',
        createdAt: minutesAgo(60),
        labels: { [storeLabel]: 'store-b', [workflowLabel]: 'trial-s-0' },
      },
    ],
    [
      'that names no workflow',
      { state: 'closed', createdAt: minutesAgo(60), labels: { [storeLabel]: 'store-a' } },
    ],
  ] as const satisfies readonly (readonly [string, Scene])[])('lets be a sandbox %s', async (_, scene) => {
    const { parts, destroyed, warned } = sceneOf(scene);
    await reap(parts);
    expect(destroyed).toEqual([]);
    expect(warned).toEqual([]);
  });

  it('removes nothing where the server does not answer, and says so', async () => {
    const scene = { state: new Error('UNAVAILABLE'), createdAt: minutesAgo(60) };
    const { parts, destroyed, warned } = sceneOf(scene);
    await reap(parts);
    expect(destroyed).toEqual([]);
    expect(warned).toEqual(['sandbox without a workflow stays for now']);
  });

  it('says that the engine does not answer, and looks at the start', async () => {
    const { parts, warned } = sceneOf({ state: 'closed', createdAt: minutesAgo(60) });
    const driver = { ...parts.driver, list: () => Promise.reject(new Error('no engine')) };
    await startReaper({ ...parts, driver }).stop();
    expect(warned).toEqual(['sandboxes without a workflow could not be looked for']);
  });
});

describe('a worker that was killed between create and record', () => {
  let lab: Lab | null = null;
  afterEach(async () => {
    await lab?.close();
  });

  it('C42: leaves a sandbox that is gone within minutes of the end of its trial, and not before', async () => {
    const opened = await openLab({ behaviourOf: () => quiet });
    lab = opened;
    await opened.putGate({});
    await opened.world.storeId();
    const { store, driver } = opened.world;
    vi.spyOn(store, 'putOnce').mockImplementation(() => new Promise(() => undefined));
    void provision(opened.world, { subject: opened.trial() }, opened.run);
    while ((await driver.list({})).length === 0) await new Promise((go) => setTimeout(go, 5));
    const running = new Set(['trial-lab-0']);
    const parts = {
      driver,
      storeId: () => readStoreId(store),
      stateOf: (id: string) => Promise.resolve(running.has(id) ? ('running' as const) : ('closed' as const)),
      log: { info: () => undefined, warn: () => undefined },
      now: () => now,
    };
    await reap(parts);
    expect(await driver.list({})).toHaveLength(1);
    running.clear();
    await reap(parts);
    expect(await driver.list({})).toEqual([]);
  });
});
