// A worker that scenes play on, one after another: each brings its activities.
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker, type WorkflowBundle } from '@temporalio/worker';
import type { Activities } from '../../activities/types.ts';
import './quiet-runtime.ts';

export interface StageOptions {
  readonly environment: TestWorkflowEnvironment;
  readonly workflowBundle: WorkflowBundle;
  readonly taskQueue: string;
}

export async function createWorker(options: StageOptions, activities: object): Promise<Worker> {
  const { environment, workflowBundle, taskQueue } = options;
  return await Worker.create({
    connection: environment.nativeConnection,
    namespace: environment.namespace ?? 'default',
    taskQueue,
    workflowBundle,
    activities,
    maxCachedWorkflows: 200,
    shutdownForceTime: '5s',
    maxHeartbeatThrottleInterval: '100ms',
  });
}

export class Stage {
  readonly taskQueue: string;
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  readonly #playing: { activities: Activities };

  private constructor(taskQueue: string, worker: Worker, playing: { activities: Activities }) {
    this.taskQueue = taskQueue;
    this.#worker = worker;
    this.#playing = playing;
    this.#ended = worker.run();
    // Whoever plays or closes is told; where nobody does, nobody has to be.
    this.#ended.catch(() => undefined);
  }

  /** `first`: the activities that are played first; those that come later have the same names. */
  static async open(options: StageOptions, first: Activities): Promise<Stage> {
    const playing = { activities: first };
    const names = Object.keys(first) as (keyof Activities)[];
    const relayed = names.map((name) => [name, (input: never): unknown => playing.activities[name](input)]);
    return new Stage(
      options.taskQueue,
      await createWorker(options, Object.fromEntries(relayed) as object),
      playing,
    );
  }

  /** Runs `work` while the worker answers with `activities`. @throws also where the worker ends before. */
  async perform<T>(activities: Activities, work: () => Promise<T>): Promise<T> {
    this.#playing.activities = activities;
    const ended = this.#ended.then(() => {
      throw new Error(`the worker of ${this.taskQueue} has ended`);
    });
    return await Promise.race([work(), ended]);
  }

  async close(): Promise<void> {
    if (this.#worker.getState() === 'RUNNING') this.#worker.shutdown();
    await this.#ended;
  }
}
