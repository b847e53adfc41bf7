// The end of a command's session: its worker drained, the sweep's sandboxes removed, all that it started ended.
import { interruptionKey } from '../domain/layout.ts';
import { sweepLabels } from '../domain/sandbox-labels.ts';
import { InterruptionSchema } from '../domain/sweep.ts';
import { putJson } from '../store/objects.ts';
import type { Store } from '../store/port.ts';
import type { DriverChoice } from '../worker/drivers.ts';
import { removeSandboxes } from './remove-sandboxes.ts';
import type { Session } from './session.ts';
import type { WorkerProcess } from './worker-process.ts';

export interface SweepOfSession {
  readonly store: Store;
  /** Read while the store answered: it may be what fails. */
  readonly storeId: string;
  readonly sweep: string;
  /** Aborted: nothing is waited for that can be ended at once. */
  readonly hurry: AbortSignal;
  readonly say: (line: string) => void;
}

/**
 * Ends a session, each part of it whatever the others come to. What fails is said and not thrown: it must not hide how
 * the sweep itself ended.
 */
export async function endSession(
  { worker, driver, stop }: Pick<Session, 'driver' | 'stop'> & { readonly worker: WorkerProcess | null },
  { store, storeId, sweep, hurry, say }: SweepOfSession,
): Promise<void> {
  const attempt = async (fault: string, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      say(`${fault}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  if (worker !== null) await attempt('the worker did not end', () => worker.stop(hurry));
  if (driver !== null) {
    await attempt('trials in flight will count this end as a loss', () => putInterruption(store, sweep));
    await attempt(`sandboxes may be left on the ${placeOf(driver)}`, () =>
      removeSandboxes(driver, sweepLabels(storeId, sweep)),
    );
  }
  await attempt('not everything that this command started has ended', stop);
}

const placeOf = ({ sandbox }: DriverChoice): string => (sandbox === 'engine' ? 'engine' : 'cluster');

/** Written when the worker has ended and before its sandboxes go: a trial that misses one is begun anew at once. */
async function putInterruption(store: Store, sweep: string): Promise<void> {
  await putJson(store, interruptionKey(sweep), InterruptionSchema, {
    format: 'passband.interruption',
    version: 1,
    at: new Date().toISOString(),
  });
}
