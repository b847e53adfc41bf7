// Where each object lies in the store. Layout version 1; see docs/store.md.

/** A trial's folder: sweep, then task, model and scaffold slugs, then the attempt's ordinal. */
export interface TrialPath {
  readonly sweep: string;
  readonly task: string;
  readonly model: string;
  readonly scaffold: string;
  readonly attempt: number;
}

const ordinal = (n: number, width: number): string => String(n).padStart(width, '0');

export const planKey = (sweep: string): string => `v1/sweeps/${sweep}/plan.json`;
export const settingsKey = (sweep: string): string => `v1/sweeps/${sweep}/settings.json`;
export const sweepsPrefix = 'v1/sweeps/';
export const trialsPrefix = (sweep: string): string => `v1/sweeps/${sweep}/trials/`;
export const blobKey = (sha256: string): string => `v1/blobs/${sha256.slice(0, 2)}/${sha256}`;
/** The gate record that a sweep stands on, by its task's slug. */
export const sweepGateKey = (sweep: string, task: string): string => `v1/sweeps/${sweep}/gates/${task}.json`;
export const refusalsPrefix = (sweep: string): string => `v1/sweeps/${sweep}/refusals/`;
/** Why a task has no gate record in a sweep so far: for what may be mended outside the task. */
export const refusalKey = (sweep: string, task: string): string => `${refusalsPrefix(sweep)}${task}.json`;
/** When a command last removed the sandboxes of a sweep that was not at its end. */
export const interruptionKey = (sweep: string): string => `v1/sweeps/${sweep}/interruption.json`;
/** What the gate's runs said of a task on exactly these images, for every sweep: `digests` as a driver names them. */
export const sharedGateKey = (gateKey: string, digests: readonly string[]): string =>
  `v1/gates/${gateKey}/gate-${digests.map((digest) => digest.replaceAll(/[^A-Za-z0-9]+/g, '-')).join('.')}.json`;

/** `task/model/scaffold/03`: a trial's name in its sweep. */
export const trialName = (trial: TrialPath): string =>
  `${trial.task}/${trial.model}/${trial.scaffold}/${ordinal(trial.attempt, 2)}`;

export const trialPrefix = (trial: TrialPath): string => `${trialsPrefix(trial.sweep)}${trialName(trial)}/`;
export const verdictKey = (trial: TrialPath): string => `${trialPrefix(trial)}verdict.json`;

/** `owner` is a trial's prefix or a gate's folder. */
export const failuresPrefixOf = (owner: string): string => `${owner}failures/`;
export const failureKeyOf = (owner: string, generation: number): string =>
  `${failuresPrefixOf(owner)}${ordinal(generation, 3)}.json`;
export const failuresPrefix = (trial: TrialPath): string => failuresPrefixOf(trialPrefix(trial));
export const failureKey = (trial: TrialPath, generation: number): string =>
  failureKeyOf(trialPrefix(trial), generation);

/** Everything that one generation writes before its verdict. `owner` is a trial's prefix or a gate's folder. */
export const generationPrefix = (owner: string, generation: number): string =>
  `${owner}g${ordinal(generation, 3)}/`;
export const gatePrefix = (gateKey: string, agent: string): string => `v1/gates/${gateKey}/${agent}/`;

/** All that one step's episode records, call by call. */
export const turnsPrefix = (generation: string, step: number): string =>
  `${generation}s${ordinal(step, 2)}/turns/`;
export const replyKey = (generation: string, step: number, call: number): string =>
  `${turnsPrefix(generation, step)}${ordinal(call, 5)}-reply.json`;
export const observationKey = (generation: string, step: number, call: number): string =>
  `${turnsPrefix(generation, step)}${ordinal(call, 5)}-observation.json`;
/** The model's context as an episode's scaffold was told it. */
export const contextKey = (generation: string, step: number): string =>
  `${turnsPrefix(generation, step)}context.json`;
/** One small JSON object a phase, so that a phase asked again answers from it. */
export const phaseKey = (generation: string, step: number, phase: string): string =>
  `${generation}s${ordinal(step, 2)}/${phase}.json`;
