// The frame around every activity: heartbeats, cancellation, translation of failures, one log line.
import { Context } from '@temporalio/activity';
import type { Activities, Again } from './types.ts';
import { classOf, failureOf } from './translate.ts';
import type { Run, World } from './world.ts';

/** Well inside the heartbeat timeout that the workflow sets. */
const heartbeatMs = 5_000;

/** What no trial and no gate waits for: a sweep asks for it itself, or nobody needs its answer. */
const holdNoPlace: ReadonlySet<keyof Activities> = new Set<keyof Activities>([
  'readPlan',
  'beginSweep',
  'readDone',
  'finishSweep',
  'probe',
  'cleanUp',
]);

/** An activity as the worker registers it, of a body that knows nothing of Temporal. */
export function performing<Input, Output>(
  world: World,
  name: keyof Activities,
  body: (world: World, input: Input, run: Run) => Promise<Output>,
): (input: Input & Partial<Again>) => Promise<Output> {
  return async ({ earlierTries = 0, ...given }) => {
    const context = Context.current();
    const { attempt, workflowExecution } = context.info;
    const input = given as Input;
    let phase: string = name;
    let details: Readonly<Record<string, unknown>> = {};
    const beat = (): void => context.heartbeat({ ...details, phase });
    const run: Run = {
      attempt: earlierTries + attempt,
      workflow: workflowExecution?.workflowId ?? 'none',
      signal: context.cancellationSignal,
      heartbeat: (now) => {
        details = now;
        beat();
      },
      enter: (next) => {
        phase = next;
      },
    };
    const beats = setInterval(beat, heartbeatMs);
    const sandboxes = world.sandboxes.forActivity();
    const started = performance.now();
    const line = (): Record<string, unknown> => ({
      phase,
      workflow: run.workflow,
      attempt: run.attempt,
      durationMs: Math.round(performance.now() - started),
    });
    try {
      const output = await body({ ...world, sandboxes }, input, run);
      world.log.info(line(), `${name} done`);
      return output;
    } catch (error) {
      if (run.signal.aborted) throw run.signal.reason;
      const failure = failureOf(error, {
        attempt,
        unit: Math.random(),
        phase,
        holdsPlace: !holdNoPlace.has(name),
      });
      const stack = classOf(error) === 'Unexpected' && error instanceof Error ? { stack: error.stack } : {};
      world.log.warn({ ...line(), failure: failure.type, ...stack }, `${phase}: ${failure.message}`);
      throw failure;
    } finally {
      clearInterval(beats);
      await sandboxes.end();
    }
  };
}
