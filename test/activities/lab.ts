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
import { planKey, sweepGateKey } from '../../domain/layout.ts';
import type { Ref } from '../../domain/refs.ts';
import { PlanSchema, type Plan } from '../../domain/sweep.ts';
import { defaultLimits, type Step, type Task } from '../../domain/task.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';
import { putJson } from '../../store/objects.ts';
import { fakeDriver, type Behaviour, type FakeDriver } from './fake-driver.ts';

const limit = (value: number) => ({ value, setBy: 'default' as const });
const digest = 'd'.repeat(64);

export const pristine: PristineFacts = {
  path: [
    { dir: '/usr/local/bin', names: [] },
    { dir: '/usr/bin', names: ['cat'] },
  ],
  imports: [],
  libraries: [],
  homes: ['/root'],
  workdir: '/work',
};

export const stepOf = (fields: Partial<Step> = {}): Step => ({
  name: 'main',
  instruction: 'Do it.',
  testsDirs: ['tests'],
  solutionDir: 'solution',
  workdirDir: null,
  agentSec: limit(30),
  verifierSec: limit(60),
  agentUser: null,
  verifierUser: null,
  verifierEnv: {},
  healthcheck: null,
  artifacts: [],
  minReward: null,
  ...fields,
});

export const taskOf = (fields: Partial<Task> = {}): Task => ({
  name: 'lab/task',
  description: '',
  image: { kind: 'prebuilt', reference: 'image' },
  buildTimeoutSec: limit(600),
  verifierImage: null,
  environmentMode: null,
  networkMode: 'no-network',
  networkDeclared: false,
  env: {},
  workdir: null,
  healthcheck: null,
  solutionEnv: {},
  limits: {
    agentSec: limit(defaultLimits.agentSec),
    verifierSec: limit(defaultLimits.verifierSec),
    setupSec: limit(defaultLimits.setupSec),
    cpus: limit(defaultLimits.cpus),
    memoryMiB: limit(defaultLimits.memoryMiB),
    diskMiB: limit(defaultLimits.diskMiB),
    pids: limit(defaultLimits.pids),
  },
  collect: [],
  rewardStrategy: 'mean',
  multiStep: false,
  steps: [stepOf()],
  needs: [],
  ...fields,
});

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
  const world = createWorld({ store, driver, env: {}, log: silent, now: () => new Date(), concurrency: 4 });
  const files = ['tests/test.sh', 'solution/solve.sh'];
  const plan: Plan = {
    format: 'passband.plan',
    version: 1,
    sweep: 'lab',
    tasks: [
      {
        id: 'lab/task',
        slug: 'lab--task',
        digest,
        solutionDigest: digest,
        gateKey,
        package: await store.putBlob(
          smallArchive(files.map((name) => ({ name, mode: 0o755, content: '#!/bin/sh\n' }))),
        ),
        task: taskOf(task),
        warnings: [],
      },
    ],
    models: [
      {
        name: 'm',
        slug: 'm',
        revision: 'unstated',
        sampling: {},
        digest,
        attempts: 4,
        nominalTokensPerSecond: null,
      },
    ],
    scaffolds: [{ name: 'nop', slug: 'nop', version: '1.0.0', options: {}, digest }],
    rejected: [],
    driver: 'engine',
    network: 'deny',
    clock: 'charged',
    unaudited: false,
    rewardKey: null,
    offlineBuild: false,
    ...planFields,
  };
  const ref = await putJson(store, planKey('lab'), PlanSchema, plan);
  const run: Run = {
    attempt: 1,
    workflow: 'trial-lab-0',
    signal: new AbortController().signal,
    heartbeat: () => undefined,
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
      await putJson(store, sweepGateKey('lab', 'lab--task'), GateRecordSchema, {
        format: 'passband.gate',
        version: 1,
        key: gateKey,
        task: 'lab/task',
        outcome: 'kept',
        reason: null,
        message: null,
        environmentMode: 'separate',
        oracleVerified: true,
        image: { reference: 'image', digest: 'sha256:image' },
        verifierImage: null,
        pristine,
        steps: [{ name: 'main', assertions: [], solutionPaths: [], delta: null, verifierMs: 5 }],
        at: '2026-01-01T00:00:00.000Z',
        ...fields,
      });
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}
