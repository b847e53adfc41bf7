// Ids of workflows: derived, so that whoever asks finds the one that runs.

export const sweepWorkflowId = (sweep: string): string => `sweep-${sweep}`;
export const trialWorkflowId = (sweep: string, index: number): string => `trial-${sweep}-${index}`;
export const gateWorkflowId = (sweep: string, task: number): string => `gate-${sweep}-${task}`;
