// What a known-rate model knows of a task: its slug, its steps, and the solution of each.

export interface SolutionFile {
  /** Relative to the solution folder, `/` between its parts. */
  readonly path: string;
  readonly content: Uint8Array;
  readonly executable: boolean;
}

export interface KnownStep {
  readonly name: string;
  /** All files of the solution folder; `solve.sh` is run, `near-miss.sh` after it where one assertion is to fail. */
  readonly files: readonly SolutionFile[];
  /** Seconds of the agent's clock: how long a model that never finishes has to wait. */
  readonly agentSec: number;
  /** The environment that the solution is run with. */
  readonly env: Readonly<Record<string, string>>;
}

export interface KnownTask {
  /** The task's slug in the plan: what X-Session-ID names. */
  readonly slug: string;
  /** The task's id in the plan. */
  readonly id: string;
  /** Its sandbox's disk limit: how much a model writes that means to pass it. */
  readonly diskMiB: number;
  readonly steps: readonly KnownStep[];
}

/** Whether a step says how to fail exactly one of its assertions. */
export const hasNearMiss = (step: KnownStep): boolean =>
  step.files.some((file) => file.path === 'near-miss.sh');
