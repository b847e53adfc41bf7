// Replays histories by the workflows as they are now: one worker for all of them, kept until it is closed.
import type { temporal } from '@temporalio/proto';
import { Worker, type WorkflowBundle } from '@temporalio/worker';
import { PassThrough } from 'node:stream';
import './quiet-runtime.ts';

interface Recorded {
  readonly workflowId: string;
  readonly history: temporal.api.history.v1.IHistory;
}

export class Replayer {
  readonly #recorded = new PassThrough({ objectMode: true });
  readonly #results: ReturnType<typeof Worker.runReplayHistories>;

  constructor(workflowBundle: WorkflowBundle) {
    // In a thread, as a worker has it: in this one, its hooks would be called for every promise of the process.
    const options = { workflowBundle, debugMode: false };
    this.#results = Worker.runReplayHistories(options, this.#recorded);
  }

  /** @throws where the workflows as they are now would not have made this history. */
  async replay(recorded: Recorded): Promise<void> {
    this.#recorded.write(recorded);
    const next: IteratorResult<{ readonly error?: Error }, unknown> = await this.#results.next();
    if (next.done === true) throw new Error(`nothing replays ${recorded.workflowId}`);
    if (next.value.error !== undefined) throw next.value.error;
  }

  async close(): Promise<void> {
    await this.#results.return?.();
  }
}
