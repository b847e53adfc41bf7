// The order of a plan's trials: attempt-major, computed and never stored. No zod here: workflows import it.

/** One planned trial, by its position in a plan's order. `attempt` counts from 1. */
export interface PlannedTrial {
  readonly index: number;
  readonly task: number;
  readonly model: number;
  readonly scaffold: number;
  readonly attempt: number;
}

/** The counts that decide a plan's order: small enough for a workflow's payload. */
export interface PlanShape {
  readonly tasks: number;
  /** k of each model. */
  readonly attempts: readonly number[];
  readonly scaffolds: number;
}

/** How many trials a plan of this shape holds. */
export function countTrials(shape: PlanShape): number {
  return shape.tasks * shape.scaffolds * shape.attempts.reduce((sum, k) => sum + k, 0);
}

/**
 * The trial at a position of the attempt-major order: attempt 1 of every task under every model, then attempt 2,
 * so that a cut budget cuts evenly. Models whose k is smaller leave the order when their attempts are used.
 * @throws RangeError where there is no such position.
 */
export function trialAt(shape: PlanShape, index: number): PlannedTrial {
  let rest = index;
  const rounds = Math.max(0, ...shape.attempts);
  for (let attempt = 1; index >= 0 && attempt <= rounds; attempt += 1) {
    const models = shape.attempts.flatMap((k, model) => (k >= attempt ? [model] : []));
    const perTask = models.length * shape.scaffolds;
    if (rest < perTask * shape.tasks) {
      const within = rest % perTask;
      const model = models[Math.floor(within / shape.scaffolds)];
      if (model === undefined) break;
      return { index, task: Math.floor(rest / perTask), model, scaffold: within % shape.scaffolds, attempt };
    }
    rest -= perTask * shape.tasks;
  }
  throw new RangeError(`no trial at position ${index} of this plan`);
}
