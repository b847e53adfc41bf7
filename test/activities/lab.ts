// A plan of one task over a real filesystem store and a fake driver, with activities called without Temporal.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { smallArchive } from '../../activities/archives.ts';
import { passBarrier } from '../../activities/barrier.ts';
import { takeDelta } from '../../activities/delta.ts';
import { runEpisode } from '../../activities/episode/run-episode.ts';
import { provision } from '../../activities/provision.ts';
import type { Subject } from '../../activities/types.ts';
import { verify } from '../../activities/verify/verify.ts';
import { createWorld, type Run, type World } from '../../activities/world.ts';
import type { PristineFacts } from '../../domain/delta.ts';
import { GateRecordSchema, type GateRecord } from '../../domain/gate.ts';
import { planKey, settingsKey, sweepGateKey } from '../../domain/layout.ts';
import type { Ref } from '../../domain/refs.ts';
import { PlanSchema, SweepSettingsSchema, type Plan } from '../../domain/sweep.ts';
import type { Task } from '../../domain/task.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';
import { putJson } from '../../store/objects.ts';
import { gateOf, planOf, plannedTaskOf, settingsOf } from '../support/sweep-data.ts';
import { taskOf } from '../support/task-data.ts';
import { fakeDriver, type Behaviour, type FakeDriver } from './fake-driver.ts';

const pristine: PristineFacts = {
  path: [
    { dir: '/usr/local/bin', names: [] },
    { dir: '/usr/bin', names: ['cat'] },
  ],
  imports: [],
  libraries: [],
  homes: ['/root'],
  workdir: '/work',
};

export interface Lab {
  readonly world: World;
  readonly driver: FakeDriver;
  readonly plan: Ref;
  readonly run: Run;
  readonly trial: (generation?: number) => Subject;
  readonly side: (agent: 'oracle' | 'nop', environmentMode?: 'shared' | 'separate') => Subject;
  /** Provision, barrier, episode, delta, verify of the first step. */
  readonly grade: (subject: Subject) => ReturnType<typeof verify>;
  readonly putGate: (fields: Partial<GateRecord>) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface LabOptions {
  readonly task?: Partial<Task>;
  readonly plan?: Partial<Plan>;
  readonly behaviourOf: (phase: string) => Behaviour;
}

export const gateKey = 'e'.repeat(64);

export async function openLab({ task, plan: planFields, behaviourOf }: LabOptions): Promise<Lab> {
  const folder = await mkdtemp(join(tmpdir(), 'passband-lab-'));
  const store = openFilesystemStore(folder);
  const driver = fakeDriver(behaviourOf);
  const silent = { info: () => undefined, warn: () => undefined };
  const world = createWorld(
    { store, driver, env: {}, log: silent, now: () => new Date(), concurrency: 4 },
    { sandboxPollMs: 20, forgeryMs: 5 },
  );
  const files = ['tests/test.sh', 'solution/solve.sh'];
  const image = { kind: 'prebuilt', reference: 'image' } as const;
  const planned = plannedTaskOf('lab/task', {
    gateKey,
    package: await store.putBlob(
      smallArchive(files.map((name) => ({ name, mode: 0o755, content: '#!/bin/sh\n' }))),
    ),
    task: taskOf('lab/task', { image, ...task }),
  });
  const plan: Plan = {
    ...planOf({ sweep: 'lab', tasks: 0, models: { m: 4 } }),
    tasks: [planned],
    scaffolds: [{ name: 'nop', slug: 'nop', version: '1.0.0', options: {}, digest: gateKey }],
    ...planFields,
  };
  const ref = await putJson(store, planKey('lab'), PlanSchema, plan);
  await putJson(store, settingsKey('lab'), SweepSettingsSchema, settingsOf({ concurrency: 4 }));
  const run: Run = {
    attempt: 1,
    workflow: 'trial-lab-0',
    signal: new AbortController().signal,
    heartbeat: () => undefined,
    enter: () => undefined,
  };
  return {
    world,
    driver,
    plan: ref,
    run,
    trial: (generation = 1) => ({ kind: 'trial', sweep: 'lab', plan: ref, index: 0, generation }),
    side: (agent, environmentMode = 'separate') => ({
      kind: 'gate',
      sweep: 'lab',
      plan: ref,
      task: 0,
      agent,
      environmentMode,
      generation: 1,
    }),
    grade: async (subject) => {
      await provision(world, { subject }, run);
      await passBarrier(world, { subject }, run);
      await runEpisode(world, { subject, step: 0 }, run);
      await takeDelta(world, { subject, step: 0 }, run);
      return verify(world, { subject, step: 0 }, run);
    },
    putGate: async (fields) => {
      const record = gateOf(planned, {
        image: { reference: 'image', digest: 'sha256:image' },
        pristine,
        steps: [{ name: 'main', assertions: [], solutionPaths: [], delta: null, verifierMs: 5 }],
        ...fields,
      });
      await putJson(store, sweepGateKey('lab', planned.slug), GateRecordSchema, record);
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}
