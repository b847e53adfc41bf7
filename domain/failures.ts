// THE table: what an end of a trial means. How an episode ended, what its verification said, and
// which failures form no verdict; who owns each, whether it is retried, and whether it counts.

/** How an episode ended. Every ending counts and is verified wherever its final file system can be read. */
export const endings = [
  'completed',
  'agent-timeout',
  'turn-limit',
  'out-of-context',
  'out-of-output',
  'no-valid-call',
  'agent-exit',
  'terminal-lost',
  'agent-oom',
  'agent-disk-full',
] as const;
export type Ending = (typeof endings)[number];

/** What the verification of a final state said. Only `passed` is a pass; the others count as failed. */
export const results = ['passed', 'failed', 'disputed', 'unstable'] as const;
export type Result = (typeof results)[number];

/** Why a result is `failed` where the reward alone does not say it. */
export const failedDetails = [
  'no-final-state',
  'no-reward',
  'malformed-reward',
  'verifier-timeout',
  'verifier-oom',
  'assertion-missing',
  'assertion-failed',
  'step-unreached',
] as const;
export type FailedDetail = (typeof failedDetails)[number];

/** Why a task left the plan: at reading (`invalid`, `duplicate`, `unsupported`) or at the gate. */
export const rejectionReasons = [
  'invalid',
  'duplicate',
  'unsupported',
  'build-fails',
  'oracle-fails',
  'nop-passes',
  'unsolvable-offline',
  'no-oracle',
  'ambiguous-reward',
] as const;
export type RejectionReason = (typeof rejectionReasons)[number];

export type Owner = 'platform' | 'model' | 'store' | 'task' | 'operator' | 'budget' | 'us';

/**
 * What is tried again. `generation`: the trial starts over in fresh sandboxes; `activity`: the same
 * step is asked again and goes on from its records; `none`: nothing.
 */
export type Retry = 'generation' | 'activity' | 'none';

export interface FailureRule {
  readonly owner: Owner;
  readonly retry: Retry;
  /** The whole sweep stops with one clear line. */
  readonly stopsSweep: boolean;
}

const rule = (owner: Owner, retry: Retry, stopsSweep = false): FailureRule => ({ owner, retry, stopsSweep });

/** Failures under which no verdict could be formed: none of them counts, none of them is ever a 0. */
export const failureTable = {
  SandboxLost: rule('platform', 'generation'),
  SandboxUnschedulable: rule('platform', 'generation'),
  ImagePullTransient: rule('platform', 'generation'),
  ExecBroken: rule('platform', 'generation'),
  PlatformUnavailable: rule('platform', 'activity'),
  ModelUnavailable: rule('model', 'activity'),
  StreamBroken: rule('model', 'activity'),
  StoreUnavailable: rule('store', 'activity'),
  TaskInvalid: rule('task', 'none'),
  ImageMissing: rule('task', 'none'),
  VerifierBroken: rule('task', 'none'),
  ConfigInvalid: rule('operator', 'none', true),
  Forbidden: rule('operator', 'none', true),
  ModelNotFound: rule('operator', 'none', true),
  EgressOpen: rule('operator', 'none', true),
  EgressUnprovable: rule('operator', 'none', true),
  BudgetExhausted: rule('budget', 'none'),
  Unexpected: rule('us', 'generation'),
} as const satisfies Record<string, FailureRule>;

export type FailureClass = keyof typeof failureTable;
export const failureClasses = Object.keys(failureTable) as readonly FailureClass[];

/** The class of a failure named elsewhere (an ApplicationFailure's type); whatever is not listed is `Unexpected`. */
export function failureClassOf(name: string | null | undefined): FailureClass {
  return name !== null && name !== undefined && Object.hasOwn(failureTable, name)
    ? (name as FailureClass)
    : 'Unexpected';
}
