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
export const gateKeyOf = (gateKey: string): string => `v1/gates/${gateKey}/gate.json`;

/** `task/model/scaffold/03`: a trial's name in its sweep. */
export const trialName = (trial: TrialPath): string =>
  `${trial.task}/${trial.model}/${trial.scaffold}/${ordinal(trial.attempt, 2)}`;

export const trialPrefix = (trial: TrialPath): string => `${trialsPrefix(trial.sweep)}${trialName(trial)}/`;
export const verdictKey = (trial: TrialPath): string => `${trialPrefix(trial)}verdict.json`;
export const failuresPrefix = (trial: TrialPath): string => `${trialPrefix(trial)}failures/`;
export const failureKey = (trial: TrialPath, generation: number): string =>
  `${failuresPrefix(trial)}${ordinal(generation, 3)}.json`;

/** Everything that one generation writes before its verdict. `owner` is a trial's prefix or a gate's folder. */
export const generationPrefix = (owner: string, generation: number): string =>
  `${owner}g${ordinal(generation, 3)}/`;
export const gatePrefix = (gateKey: string, agent: string): string => `v1/gates/${gateKey}/${agent}/`;

export const replyKey = (generation: string, step: number, call: number): string =>
  `${generation}s${ordinal(step, 2)}/turns/${ordinal(call, 5)}-reply.json`;
export const observationKey = (generation: string, step: number, call: number): string =>
  `${generation}s${ordinal(step, 2)}/turns/${ordinal(call, 5)}-observation.json`;
/** One small JSON object a phase, so that a phase asked again answers from it. */
export const phaseKey = (generation: string, step: number, phase: string): string =>
  `${generation}s${ordinal(step, 2)}/${phase}.json`;
