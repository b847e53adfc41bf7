// How known-rate models fail in a bench: as they draw it, and now and then by passing a limit of their sandbox.
import { once } from 'node:events';
import {
  failurePlanOf,
  intentOf,
  type FailingWay,
  type Intent,
} from '../../instruments/known-rate/intent.ts';
import type { KnownTask } from '../../instruments/known-rate/known-task.ts';
import type { ChooseWay } from '../../instruments/known-rate/mind.ts';

interface Wish {
  readonly way: FailingWay;
  /** Null: of any task. */
  readonly tasks: readonly string[] | null;
  readonly grant: (trial: string) => void;
}

export interface WaysOptions {
  readonly seed: number;
  readonly tasks: readonly KnownTask[];
  /** Tasks with so long a clock that nobody waits for its end: their trials give up early. */
  readonly patient: readonly string[];
}

/** A trial's name as its objects' keys have it. */
export const nameOfTrial = (
  sweep: string,
  { task, model, attempt }: Pick<Intent, 'task' | 'model' | 'attempt'>,
): string => `${sweep}/${task}/${model}/terminus-2/${String(attempt).padStart(2, '0')}`;

export class Ways {
  readonly #options: WaysOptions;
  readonly #begun = new Set<string>();
  readonly #chosen = new Map<string, FailingWay>();
  #wish: Wish | null = null;

  constructor(options: WaysOptions) {
    this.#options = options;
  }

  /** For the models' server: a trial's way stands from its first request on, in all its generations. */
  readonly choose: ChooseWay = (sweep, intent) => {
    const trial = nameOfTrial(sweep, intent);
    if (intent.solve) return null;
    if (!this.#begun.has(trial)) this.#begin(trial, intent);
    return this.#chosen.get(trial) ?? null;
  };

  /** Has the next trial that begins and means to fail do it so; answers which. */
  async next(way: FailingWay, tasks: readonly string[] | null, signal: AbortSignal): Promise<string> {
    const granted = new Promise<string>((resolve) => {
      this.#wish = { way, tasks, grant: resolve };
    });
    try {
      return await Promise.race([granted, abortOf(signal)]);
    } finally {
      this.#wish = null;
    }
  }

  /** How a trial fails; null: it means to solve. */
  wayOf(sweep: string, trial: Pick<Intent, 'task' | 'model' | 'attempt'>): FailingWay | null {
    const task = this.#options.tasks.find(({ slug }) => slug === trial.task);
    if (task === undefined) throw new RangeError(`no task ${trial.task}`);
    const intent = intentOf(this.#options.seed, trial.model, trial.task, trial.attempt);
    const chosen = this.#chosen.get(nameOfTrial(sweep, trial)) ?? null;
    return failurePlanOf(intent, task, chosen)?.way ?? null;
  }

  #begin(trial: string, { task }: Intent): void {
    this.#begun.add(trial);
    if (this.#options.patient.includes(task)) this.#chosen.set(trial, 'gives-up-early');
    const wish = this.#wish;
    if (wish === null || (wish.tasks !== null && !wish.tasks.includes(task))) return;
    this.#wish = null;
    this.#chosen.set(trial, wish.way);
    wish.grant(trial);
  }
}

async function abortOf(signal: AbortSignal): Promise<never> {
  signal.throwIfAborted();
  await once(signal, 'abort');
  throw signal.reason;
}
