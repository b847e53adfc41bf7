// Every kind of fault that a bench injects.
import { agentFaults } from './agent-faults.ts';
import type { FaultKind } from './fault.ts';
import { modelFaults } from './model-faults.ts';
import { platformFaults } from './platform-faults.ts';
import { podFaults } from './pod-faults.ts';
import { storeFaults } from './store-faults.ts';
import { workerFaults } from './worker-faults.ts';

export const faultKinds: readonly FaultKind[] = [
  ...workerFaults,
  ...podFaults,
  ...modelFaults,
  ...storeFaults,
  ...platformFaults,
  ...agentFaults,
];
