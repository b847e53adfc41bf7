// Ids of workflows: derived, so that whoever asks finds the one that runs.

export const sweepWorkflowId = (sweep: string): string => `sweep-${sweep}`;
export const trialWorkflowId = (sweep: string, index: number): string => `trial-${sweep}-${index}`;
export const gateWorkflowId = (sweep: string, task: number): string => `gate-${sweep}-${task}`;

/** The sweep that a workflow of this id belongs to; null where it is none of these. */
export function sweepOfWorkflow(id: string): string | null {
  const [, whole, part] = /^(?:sweep-(.+)|(?:trial|gate)-(.+)-\d+)$/.exec(id) ?? [];
  return whole ?? part ?? null;
}
