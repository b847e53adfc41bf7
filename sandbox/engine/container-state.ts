// What the engine's word about a container means for the sandbox in it.
import type { SandboxState } from '../port.ts';
import { endedByBounds } from '../supervised/bounds.ts';
import { supervisorFaultStatus } from '../supervised/supervisor.ts';
import type { InspectedContainer } from './inspected.ts';

/** SIGKILL: the kernel's for memory, or somebody's with the engine at hand. */
const killed = 137;
/** How the supervisor's runtime ends where it gets no memory or thread any more: what runs beside it took them. */
const crashed = 2;

/** When a container that runs does not run as it did: `startedAt` is what its sandbox was opened with. */
export function stateOf(
  { State: state, SizeRw: size }: InspectedContainer,
  { startedAt, diskMiB }: { readonly startedAt: string; readonly diskMiB: number },
): SandboxState {
  const diskBytes = size ?? 0;
  if (diskBytes > diskMiB * 1024 ** 2) {
    const used = Math.ceil(diskBytes / 1024 ** 2);
    const reason = `the sandbox's files take ${used} MiB, its limit is ${diskMiB} MiB`;
    return { kind: 'gone', cause: 'self', why: 'disk', reason };
  }
  if (state.Running) {
    if (state.StartedAt === startedAt) return { kind: 'alive' };
    return { kind: 'restarted', reason: `the container was started anew at ${state.StartedAt}` };
  }
  return goneOf(state);
}

/** Why a container that does not run any more ended. */
export function goneOf(state: InspectedContainer['State']): Exclude<SandboxState, { kind: 'alive' }> {
  // An engine notes the end of any process for memory: PID 1 itself ends by SIGKILL, or by finding none left.
  if (state.OOMKilled && [killed, crashed].includes(state.ExitCode)) {
    const reason = 'the kernel ended PID 1 of the sandbox for the memory its processes took';
    return { kind: 'gone', cause: 'self', why: 'oom', reason };
  }
  if (state.Status === 'created' || state.Status === 'configured') {
    const reason = 'the container is not running and never ended: its machine was started anew';
    return { kind: 'gone', cause: 'platform', why: 'host-lost', reason };
  }
  if (state.ExitCode === supervisorFaultStatus) {
    const reason = 'PID 1 of the sandbox ended for a fault of its own';
    return { kind: 'gone', cause: 'platform', why: 'exited', reason };
  }
  const bounded = endedByBounds(state.ExitCode);
  if (bounded !== null) return bounded;
  // No signal from inside a sandbox ends its PID 1. What is not known to come from inside does not: a stop or a kill
  // of the engine's (143, 137), an engine or a machine that died (255, 0).
  const inside = state.ExitCode === crashed;
  const how = `PID 1 of the sandbox ended with exit status ${state.ExitCode}`;
  const reason = inside ? how : `${how}: nothing inside ends it so`;
  return { kind: 'gone', cause: inside ? 'self' : 'platform', why: 'exited', reason };
}
