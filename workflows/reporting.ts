// Tells a sweep how its child ended: by a signal to its workflow id, which stays the same when it continues as new.
import {
  CancellationScope,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  workflowInfo,
  type SignalDefinition,
} from '@temporalio/workflow';

/** Runs `work` and reports what it answers, `cancelled` where it was cancelled. Without a parent nobody is told. */
export async function reporting<Report>(
  signal: SignalDefinition<[Report]>,
  work: () => Promise<Report>,
  cancelled: Report,
): Promise<Report> {
  try {
    const report = await work();
    await tell(signal, report);
    return report;
  } catch (error) {
    if (isCancellation(error)) await tell(signal, cancelled);
    throw error;
  }
}

/** Tells the sweep. False where there is none, or none any more. */
export async function tell<Report>(signal: SignalDefinition<[Report]>, report: Report): Promise<boolean> {
  const parent = workflowInfo().parent;
  if (parent === undefined) return false;
  return CancellationScope.nonCancellable(async () => {
    try {
      await getExternalWorkflowHandle(parent.workflowId).signal(signal, report);
      return true;
    } catch (error) {
      // The sweep is over. What it would have counted is in the store, where its next run finds it.
      log.warn('the sweep is not there to be told', { sweep: parent.workflowId, error: String(error) });
      return false;
    }
  });
}
