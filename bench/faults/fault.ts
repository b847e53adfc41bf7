// What a fault is: a kind with its weight and cost, and how it is done to a scene.
import type { Chance } from './chance.ts';
import type { Scene } from './scene.ts';

/** What a fault is done to. One at a time is done to each, so that each has its own moment and effect. */
export type Area = 'worker' | 'node' | 'pod' | 'model' | 'store' | 'platform' | 'temporal' | 'agent';

export interface FaultRule {
  readonly name: string;
  readonly area: Area;
  /** How often it comes, in parts of all. */
  readonly weight: number;
  /** What it takes of a small machine while it lasts: the sum of those that overlap is bounded. */
  readonly cost: number;
}

export interface Injection {
  readonly scene: Scene;
  /** Of this one fault. */
  readonly chance: Chance;
  /** Names the trials that it hits, as `SWEEP/TASK/MODEL/SCAFFOLD/NN`; where it is not called, all that are in flight as it begins. */
  readonly hits: (trials: readonly string[]) => void;
  /** Aborted: the bench ends, and so does the fault, with everything set right. */
  readonly signal: AbortSignal;
}

export interface FaultKind extends FaultRule {
  /** What it means that a trial has survived it. */
  readonly recovered: string;
  /** Lasts as long as the fault; what it broke is whole again at its end. */
  readonly inject: (injection: Injection) => Promise<void>;
}

/** A fault that was injected. Milliseconds of `performance.now()`. */
export interface InjectedFault {
  readonly ordinal: number;
  readonly kind: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly hits: readonly string[];
}
