// A whole plan, gate records and verdicts, valid by their schemas and of the size that real ones have.
import { createHash } from 'node:crypto';
import type { GateRecord } from '../../domain/gate.ts';
import type { Result } from '../../domain/failures.ts';
import type { Ref } from '../../domain/refs.ts';
import type { Plan, PlannedTask, TrialInPlan } from '../../domain/sweep.ts';
import type { Limits, Task } from '../../domain/task.ts';
import type { SandboxRecord, Verdict } from '../../domain/verdict.ts';

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const refOf = (text: string): Ref => ({
  key: `v1/blobs/${digestOf(text)}`,
  sha256: digestOf(text),
  bytes: 4096,
});
const at = '2026-01-01T00:00:00.000Z';
const byDefault = (value: number) => ({ value, setBy: 'default' as const });
const limits: Limits = {
  agentSec: byDefault(1800),
  verifierSec: byDefault(600),
  setupSec: byDefault(600),
  cpus: byDefault(1),
  memoryMiB: byDefault(2048),
  diskMiB: byDefault(10_240),
  pids: byDefault(512),
};

const taskOf = (name: string): Task => ({
  name,
  description: '',
  image: { kind: 'build', dir: 'environment', dockerfile: 'Dockerfile' },
  buildTimeoutSec: byDefault(600),
  verifierImage: null,
  environmentMode: null,
  networkMode: 'no-network',
  networkDeclared: false,
  env: {},
  workdir: null,
  healthcheck: null,
  solutionEnv: {},
  limits,
  collect: [],
  rewardStrategy: 'mean',
  multiStep: false,
  steps: [
    {
      name: 'main',
      instruction: 'Do what is to be done.',
      testsDirs: ['tests'],
      solutionDir: 'solution',
      workdirDir: null,
      agentSec: limits.agentSec,
      verifierSec: limits.verifierSec,
      agentUser: null,
      verifierUser: null,
      verifierEnv: {},
      healthcheck: null,
      artifacts: [],
      minReward: null,
    },
  ],
  needs: [],
});

export interface PlanSize {
  readonly sweep: string;
  readonly tasks: number;
  /** k of each model, by name. */
  readonly models: Readonly<Record<string, number>>;
}

export function planOf({ sweep, tasks, models }: PlanSize): Plan {
  return {
    format: 'passband.plan',
    version: 1,
    sweep,
    tasks: Array.from({ length: tasks }, (_, i): PlannedTask => {
      const name = `task-${String(i).padStart(4, '0')}`;
      return {
        id: `org/${name}`,
        slug: `org--${name}`,
        digest: digestOf(name),
        solutionDigest: digestOf(`solution of ${name}`),
        gateKey: digestOf(`gate of ${name}`),
        package: refOf(name),
        task: taskOf(`org/${name}`),
        warnings: [],
      };
    }),
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

export function gateOf(task: PlannedTask): GateRecord {
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
  return {
    phase,
    step: 'main',
    uid: digestOf(phase),
    host: 'one',
    imageDigest: digestOf('image'),
    network: {
      outcome: 'denied',
      interfaces: [{ name: 'lo', addresses: ['127.0.0.1'] }],
      routes: [],
      probes,
      at,
    },
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
