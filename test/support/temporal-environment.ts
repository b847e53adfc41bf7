// Scenes of workflows on a Temporal server: every history that a test makes is replayed at its end.
import type { WorkflowHandle } from '@temporalio/client';
import type { Workflow, WorkflowResultType } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { Worker, WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Activities } from '../../activities/types.ts';
import { bundleWorkflows } from '../../worker/bundle.ts';
import { Replayer } from './replayer.ts';
import { createWorker, Stage, type StageOptions } from './stage.ts';
import { joinTimeSkipping } from './time-skipping.ts';

type History = temporal.api.history.v1.IHistory;
export type HistoryEvents = readonly temporal.api.history.v1.IHistoryEvent[];

let bundled: Promise<WorkflowBundleWithSourceMap> | null = null;
let queues = 0;
let kept: Promise<TestTemporal> | null = null;

/** Workers of tests that did not come to their end: they would keep the server. */
const running = new Set<Worker>();

/** The workflows as they are now, bundled once a process. */
export async function bundleOnce(): Promise<WorkflowBundleWithSourceMap> {
  bundled ??= bundleWorkflows();
  return await bundled;
}

const newQueue = (): string => {
  queues += 1;
  return `test-${process.pid}-${queues}`;
};

/** One test's workflows. */
export class Scene {
  readonly environment: TestWorkflowEnvironment;
  readonly taskQueue: string;
  readonly #options: StageOptions;
  readonly #replayer: Replayer;
  readonly #roots: string[] = [];

  constructor(options: StageOptions, replayer: Replayer) {
    this.environment = options.environment;
    this.taskQueue = options.taskQueue;
    this.#options = options;
    this.#replayer = replayer;
  }

  /** Starts a workflow; `name`, its id, is one that no other test uses. */
  async start<W extends Workflow>(
    workflow: W & ((...args: never[]) => Promise<WorkflowResultType<W>>),
    name: string,
    args: Parameters<W>,
  ): Promise<WorkflowHandle<W>> {
    this.#roots.push(name);
    return (await this.environment.client.workflow.start<W>(workflow.name, {
      workflowId: name,
      taskQueue: this.taskQueue,
      args,
    } as never)) as WorkflowHandle<W>;
  }

  /** Runs a worker of its own until `work` ends. */
  async runWorker<T>(activities: Activities, work: () => Promise<T>): Promise<T> {
    const worker = await createWorker(this.#options, activities);
    running.add(worker);
    try {
      return await worker.runUntil(work);
    } finally {
      running.delete(worker);
    }
  }

  async history(workflowId: string, runId?: string): Promise<History> {
    return await this.environment.client.workflow.getHandle(workflowId, runId).fetchHistory();
  }

  /** Replays every workflow that was started here, its runs and its children. @throws where one is not determined. */
  async replay(): Promise<void> {
    const open: (readonly [string, string | undefined])[] = this.#roots.map((id) => [id, undefined]);
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const [workflowId, runId] = next;
      const history = await this.history(workflowId, runId);
      open.push(...relatedRuns(workflowId, history.events ?? []));
      await this.#replayer.replay({ workflowId, history });
    }
  }
}

/** Children that a run started, and the run that it continues. */
function relatedRuns(workflowId: string, events: HistoryEvents): (readonly [string, string])[] {
  return events.flatMap((event): (readonly [string, string])[] => {
    const child = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution;
    if (typeof child?.workflowId === 'string' && typeof child.runId === 'string') {
      return [[child.workflowId, child.runId]];
    }
    const earlier = event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
    return typeof earlier === 'string' && earlier !== '' ? [[workflowId, earlier]] : [];
  });
}

export interface TestTemporal {
  readonly environment: TestWorkflowEnvironment;
  /** Runs `work` beside a worker of these activities, then replays all histories. */
  play<T>(activities: Activities, work: (scene: Scene) => Promise<T>): Promise<T>;
  /** A scene whose workers the test runs itself; on the queue of an earlier one where it is given. */
  scene(taskQueue?: string): Scene;
  stop(): Promise<void>;
}

/**
 * Scenes on the server given, or on the one of the tier that skips time. That one is kept with its worker for the files
 * that follow in this process, and ends with it.
 */
export async function startTestTemporal(given?: TestWorkflowEnvironment): Promise<TestTemporal> {
  if (given !== undefined) return await openTemporal(given);
  kept ??= joinTimeSkipping().then(openTemporal);
  return { ...(await kept), stop: () => Promise.resolve() };
}

async function openTemporal(environment: TestWorkflowEnvironment): Promise<TestTemporal> {
  const workflowBundle = await bundleOnce();
  const replayer = new Replayer(workflowBundle);
  const optionsOf = (taskQueue: string): StageOptions => ({ environment, workflowBundle, taskQueue });
  const stages: Stage[] = [];
  const free: Stage[] = [];
  return {
    environment,
    scene: (taskQueue) => new Scene(optionsOf(taskQueue ?? newQueue()), replayer),
    play: async (activities, work) => {
      let stage = free.pop();
      if (stage === undefined) {
        stage = await Stage.open(optionsOf(newQueue()), activities);
        stages.push(stage);
      }
      const scene = new Scene(optionsOf(stage.taskQueue), replayer);
      const result = await stage.perform(activities, () => work(scene));
      // Only after a good end: what a test leaves behind that fails or hangs stays alone with its worker.
      free.push(stage);
      await scene.replay();
      return result;
    },
    stop: async () => {
      for (const worker of running) {
        if (worker.getState() === 'RUNNING') worker.shutdown();
        while (worker.getState() !== 'STOPPED' && worker.getState() !== 'FAILED') await sleep(20);
      }
      await Promise.all(stages.map(async (stage) => await stage.close()));
      await replayer.close();
      await environment.teardown();
    },
  };
}
