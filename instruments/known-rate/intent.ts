// What a known-rate model means to do with a trial: decided by seed, model, task and attempt alone, before it begins.
import { createHash } from 'node:crypto';
import { hasNearMiss, type KnownTask } from './known-task.ts';

/** The realistic ways of failing a task on purpose. */
export const failingWays = [
  'wrong-file',
  'gives-up-early',
  'breaks-protocol-once',
  'never-finishes',
  'one-assertion',
] as const;
type DrawnWay = (typeof failingWays)[number];

/** Ways that end the whole sandbox by one of its limits: no intent draws them, they are taken where somebody asks for them. */
export const limitWays = ['eats-memory', 'fills-disk'] as const;
export type FailingWay = DrawnWay | (typeof limitWays)[number];

/** Of the failing trials, in parts; `one-assertion` has none where the step has no near-miss.sh. */
const weights: Readonly<Record<DrawnWay, number>> = {
  'wrong-file': 5,
  'gives-up-early': 4,
  'breaks-protocol-once': 4,
  'never-finishes': 2,
  'one-assertion': 5,
};

/** Of the solving trials, the share that sends one malformed reply and recovers. */
const slipShare = 0.2;

export interface Intent {
  readonly model: string;
  /** The task's slug. */
  readonly task: string;
  /** Ordinal from 1. All generations of a trial share one intent. */
  readonly attempt: number;
  readonly solve: boolean;
  /** Whether a solving trial breaks the protocol once on its way. */
  readonly slips: boolean;
  /** Uniform draws in [0, 1) that choose the way and the step of a failing trial. */
  readonly wayDraw: number;
  readonly stepDraw: number;
}

export interface FailurePlan {
  readonly way: FailingWay;
  /** Index of the step that fails; in those after it nothing is done, so that no later step makes up for it. */
  readonly step: number;
}

/**
 * The rate in a model's name: `known-rate-0.5` solves a half of its trials.
 * @returns null where the name is not that of a known-rate model.
 */
export function rateOf(model: string): number | null {
  const match = /^known-rate-(\d+(?:\.\d+)?)$/.exec(model);
  const rate = Number(match?.[1] ?? Number.NaN);
  return rate >= 0 && rate <= 1 ? rate : null;
}

/**
 * Independent draws, so that the passes of n attempts are binomial with the rate of the model's name.
 * @throws RangeError where the name is not that of a known-rate model.
 */
export function intentOf(seed: number, model: string, task: string, attempt: number): Intent {
  const rate = rateOf(model);
  if (rate === null)
    throw new RangeError(`${model} is not a known-rate model (known-rate-0 to known-rate-1)`);
  const digest = createHash('sha256')
    .update(JSON.stringify(['passband.known-rate', 1, seed, model, task, attempt]))
    .digest();
  const draw = (nth: number): number => digest.readUIntBE(nth * 6, 6) / 2 ** 48;
  return {
    model,
    task,
    attempt,
    solve: draw(0) < rate,
    slips: draw(1) < slipShare,
    wayDraw: draw(2),
    stepDraw: draw(3),
  };
}

/** How an intent to fail is carried out in a task, as it draws it unless a way is chosen for it; null for one to solve. */
export function failurePlanOf(
  intent: Intent,
  task: KnownTask,
  chosen: FailingWay | null = null,
): FailurePlan | null {
  if (intent.solve) return null;
  const step = Math.floor(intent.stepDraw * task.steps.length);
  const failing = task.steps[step];
  const open = failingWays.filter(
    (way) => way !== 'one-assertion' || (failing !== undefined && hasNearMiss(failing)),
  );
  let rest = intent.wayDraw * open.reduce((sum, way) => sum + weights[way], 0);
  const drawn = open.find((candidate) => (rest -= weights[candidate]) < 0) ?? 'gives-up-early';
  return { way: chosen ?? drawn, step };
}
