// A whole plan, gate records and verdicts, valid by their schemas and of the size that real ones have.
import { createHash } from 'node:crypto';
import type { GateRecord } from '../../domain/gate.ts';
import type { Result } from '../../domain/failures.ts';
import type { Ref } from '../../domain/refs.ts';
import { slugOf } from '../../domain/slug.ts';
import type { Plan, PlannedTask, SweepSettings, TrialInPlan } from '../../domain/sweep.ts';
import type { SandboxRecord, Verdict } from '../../domain/verdict.ts';
import { limits, taskOf } from './task-data.ts';

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const refOf = (text: string): Ref => ({
  key: `v1/blobs/${digestOf(text)}`,
  sha256: digestOf(text),
  bytes: 4096,
});
const at = '2026-01-01T00:00:00.000Z';

export interface PlanSize {
  readonly sweep: string;
  readonly tasks: number;
  /** k of each model, by name. */
  readonly models: Readonly<Record<string, number>>;
}

export const plannedTaskOf = (id: string, fields: Partial<PlannedTask> = {}): PlannedTask => ({
  id,
  slug: slugOf(id),
  digest: digestOf(id),
  solutionDigest: digestOf(`solution of ${id}`),
  gateKey: digestOf(`gate of ${id}`),
  package: refOf(id),
  task: taskOf(id),
  warnings: [],
  ...fields,
});

export function planOf({ sweep, tasks, models }: PlanSize): Plan {
  return {
    format: 'passband.plan',
    version: 1,
    sweep,
    tasks: Array.from({ length: tasks }, (_, i) => plannedTaskOf(`org/task-${String(i).padStart(4, '0')}`)),
    models: Object.entries(models).map(([name, attempts]) => ({
      name,
      slug: name,
      revision: `revision of ${name}`,
      sampling: {},
      digest: digestOf(name),
      attempts,
      nominalTokensPerSecond: null,
    })),
    scaffolds: [
      { name: 'terminus-2', slug: 'terminus-2', version: '1', options: {}, digest: digestOf('terminus-2') },
    ],
    rejected: [],
    driver: 'engine',
    network: 'deny',
    clock: 'charged',
    unaudited: false,
    rewardKey: null,
    offlineBuild: false,
  };
}

export const settingsOf = (fields: Partial<SweepSettings> = {}): SweepSettings => ({
  format: 'passband.settings',
  version: 2,
  concurrency: 1,
  endpoints: {},
  seed: null,
  splits: {},
  ...fields,
});

/** Kept, with the facts of an image of some hundred programs. */
export function gateOf(task: PlannedTask, fields: Partial<GateRecord> = {}): GateRecord {
  const names = Array.from({ length: 400 }, (_, i) => `program-${i}`);
  return {
    format: 'passband.gate',
    version: 1,
    key: task.gateKey,
    task: task.id,
    outcome: 'kept',
    reason: null,
    message: null,
    environmentMode: 'separate',
    oracleVerified: true,
    image: { reference: 'localhost/image', digest: digestOf('image') },
    verifierImage: null,
    pristine: {
      path: [{ dir: '/usr/bin', names }],
      imports: [],
      libraries: [],
      homes: ['/root'],
      workdir: '/app',
    },
    steps: [],
    at,
    ...fields,
  };
}

function sandboxOf(phase: SandboxRecord['phase']): SandboxRecord {
  const targets = ['metadata', 'outside', 'dns', 'engine', 'model', 'store'];
  const probes = targets.map((target) => ({
    target,
    outcome: 'denied' as const,
    detail: 'ENETUNREACH',
    ms: 1,
  }));
  const network = {
    outcome: 'denied' as const,
    interfaces: [{ name: 'lo', addresses: ['127.0.0.1'] }],
    routes: [],
    probes,
    at,
  };
  return {
    phase,
    step: 'main',
    uid: digestOf(phase),
    host: 'one',
    imageDigest: digestOf('image'),
    network,
    networkAtEnd: phase === 'agent' ? network : null,
    memoryEnds: 'process',
  };
}

export function verdictOf({ path, task, model, scaffold, attempt }: TrialInPlan, result: Result): Verdict {
  const reward = result === 'passed' ? 1 : 0;
  const assertions = Array.from({ length: 12 }, (_, i) => ({
    name: `tests/test_outputs.py::test_${i}`,
    status: i < 11 || reward === 1 ? ('passed' as const) : ('failed' as const),
    message: null,
  }));
  const verified = {
    result,
    detail: null,
    reward,
    rewards: { reward },
    assertions,
    withheld: [],
    missing: [],
    warnings: [],
  };
  const clocks = {
    wallMs: 1,
    firstTokenMs: 1,
    turns: 2,
    promptTokens: 1000,
    outputTokens: 100,
    tokensEstimated: false,
  };
  return {
    format: 'passband.verdict',
    version: 1,
    trial: {
      sweep: path.sweep,
      task: task.id,
      taskDigest: task.digest,
      model: model.name,
      modelRevision: model.revision,
      modelDigest: model.digest,
      scaffold: scaffold.name,
      scaffoldVersion: scaffold.version,
      scaffoldDigest: scaffold.digest,
      attempt,
    },
    generation: 1,
    ending: 'completed',
    endingDetail: null,
    ...verified,
    steps: [
      {
        name: 'main',
        reached: true,
        ending: 'completed',
        endingDetail: null,
        episode: {
          ...clocks,
          chargedMs: 1,
          nominalMs: null,
          oomKills: 0,
          trajectory: refOf('trajectory'),
          messages: refOf('messages'),
          recording: refOf('recording'),
        },
        delta: refOf('delta'),
        verification: { ...verified, verifierMs: 1, output: refOf('output'), restoredOutput: null },
      },
    ],
    limits,
    agentSeconds: 1,
    nominalSeconds: null,
    wallSeconds: 1,
    firstTokenMs: 1,
    turns: 2,
    promptTokens: 1000,
    outputTokens: 100,
    tokensEstimated: false,
    environmentMode: 'separate',
    networkMode: 'deny',
    networkWithheld: false,
    oracleVerified: true,
    driver: 'engine',
    sandboxes: [sandboxOf('agent'), sandboxOf('verifier')],
    startedAt: at,
    endedAt: at,
  };
}
