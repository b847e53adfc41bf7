// A Temporal server and workers for tests of workflows: every history that a test makes is replayed at its end.
import type { WorkflowHandle } from '@temporalio/client';
import type { Workflow, WorkflowResultType } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker, type WorkflowBundle } from '@temporalio/worker';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Activities } from '../../activities/types.ts';
import { bundleWorkflows } from '../../worker/bundle.ts';
import './quiet-runtime.ts';
import { timeSkippingServerPath } from './temporal-test-server.ts';

type History = temporal.api.history.v1.IHistory;
export type HistoryEvents = readonly temporal.api.history.v1.IHistoryEvent[];

let bundled: Promise<WorkflowBundle> | null = null;
let starts = 0;

/** Workers of tests that did not come to their end: they would keep the server. */
const running = new Set<Worker>();

/** One test's workflows, on a queue of their own. */
export class Scene {
  readonly environment: TestWorkflowEnvironment;
  readonly taskQueue: string;
  readonly #bundle: WorkflowBundle;
  readonly #roots: string[] = [];

  constructor(environment: TestWorkflowEnvironment, bundle: WorkflowBundle, taskQueue: string | null = null) {
    starts += 1;
    this.environment = environment;
    this.taskQueue = taskQueue ?? `test-${process.pid}-${starts}`;
    this.#bundle = bundle;
  }

  /** Starts a workflow under an id that no other test uses: `name` made unique. */
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

  /** Runs a worker until `work` ends. */
  async runWorker<T>(activities: Activities, work: () => Promise<T>): Promise<T> {
    const worker = await Worker.create({
      connection: this.environment.nativeConnection,
      namespace: this.environment.namespace ?? 'default',
      taskQueue: this.taskQueue,
      workflowBundle: this.#bundle,
      activities,
      maxCachedWorkflows: 200,
      shutdownForceTime: '5s',
    });
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
  async replay(): Promise<number> {
    let replayed = 0;
    for await (const { error } of Worker.runReplayHistories(
      { workflowBundle: this.#bundle },
      this.#histories(),
    )) {
      if (error !== undefined) throw error;
      replayed += 1;
    }
    return replayed;
  }

  async *#histories() {
    const open: (readonly [string, string | undefined])[] = this.#roots.map((id) => [id, undefined]);
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const [workflowId, runId] = next;
      const history = await this.history(workflowId, runId);
      open.push(...relatedRuns(workflowId, history.events ?? []));
      yield { workflowId, history };
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

/** The server that skips time, or the one given. */
export async function startTestTemporal(given?: TestWorkflowEnvironment): Promise<TestTemporal> {
  const environment =
    given ??
    (await TestWorkflowEnvironment.createTimeSkipping({
      server: { executable: { type: 'existing-path', path: await timeSkippingServerPath() } },
    }));
  bundled ??= bundleWorkflows();
  const bundle = await bundled;
  return {
    environment,
    scene: (taskQueue) => new Scene(environment, bundle, taskQueue ?? null),
    play: async (activities, work) => {
      const scene = new Scene(environment, bundle);
      const result = await scene.runWorker(activities, () => work(scene));
      await scene.replay();
      return result;
    },
    stop: async () => {
      for (const worker of running) {
        if (worker.getState() === 'RUNNING') worker.shutdown();
        while (worker.getState() !== 'STOPPED' && worker.getState() !== 'FAILED') await sleep(20);
      }
      await environment.teardown();
    },
  };
}
