// A task of one step as it is read from a folder that says nothing: every value a default.
import { defaultLimits, type Limits, type Step, type Task } from '../../domain/task.ts';

const byDefault = (value: number) => ({ value, setBy: 'default' as const });

export const limits: Limits = {
  agentSec: byDefault(defaultLimits.agentSec),
  verifierSec: byDefault(defaultLimits.verifierSec),
  setupSec: byDefault(defaultLimits.setupSec),
  cpus: byDefault(defaultLimits.cpus),
  memoryMiB: byDefault(defaultLimits.memoryMiB),
  diskMiB: byDefault(defaultLimits.diskMiB),
  pids: byDefault(defaultLimits.pids),
};

export const stepOf = (fields: Partial<Step> = {}): Step => ({
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
  ...fields,
});

export const taskOf = (name: string, fields: Partial<Task> = {}): Task => ({
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
  steps: [stepOf()],
  needs: [],
  ...fields,
});
