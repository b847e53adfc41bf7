// The network proof of one sandbox, held against the sweep's survey: closed, or nothing goes on.
import { setTimeout as sleep } from 'node:timers/promises';
import { ClassifiedError } from '../../domain/errors.ts';
import type { NetworkProof } from '../../domain/network.ts';
import { UntriedProof } from '../../sandbox/egress.ts';
import { SandboxGone, type Sandbox } from '../../sandbox/port.ts';
import type { Grading } from '../subject.ts';
import type { Run, World } from '../world.ts';

/** A policy reaches a new sandbox late: how long it may, before an answer from outside is an open network. */
const settleMs = 20_000;

/** Looks at a sandbox whose targets cannot be tried: about 20 s. */
const looks = 8;
/**
 * The same where nothing runs in it any more: about 80 s. A connection that was closed holds its port for 60 s after the
 * process that had it (TIME_WAIT).
 */
const looksAtRest = 28;

export interface ProofOf {
  readonly sandbox: Sandbox;
  readonly grading: Pick<Grading, 'plan' | 'task'>;
  readonly run: Pick<Run, 'signal'>;
}

/**
 * Of a sandbox in which nothing of the task has run.
 * @throws ClassifiedError EgressOpen or EgressUnprovable; UntriedProof (ExecBroken) where its targets cannot be tried
 */
export const proveClosed = (world: World, of: ProofOf): Promise<NetworkProof> =>
  prove(world, of, { settleMs, looks });

interface ProofAtEnd {
  readonly network: NetworkProof;
  /** What had to be done to what ran in the sandbox. */
  readonly warnings: readonly string[];
}

/**
 * Of a sandbox in which an agent worked: it is closed now, or it is open. Where nothing can be sent, whatever runs in it
 * is ended and it is tried again: an agent that has taken every port stops no sweep by it, and begins nothing anew.
 * @throws the same
 */
export async function proveStillClosed(world: World, of: ProofOf): Promise<ProofAtEnd> {
  try {
    return { network: await prove(world, of, { settleMs: 0, looks }), warnings: [] };
  } catch (error) {
    if (!(error instanceof UntriedProof)) throw error;
    const warning = `everything in the sandbox was ended so that its network could be proved: ${error.message}`;
    world.log.warn({ sandbox: of.sandbox.identity.name }, warning);
    await endEverything(of.sandbox);
    return { network: await prove(world, of, { settleMs: 0, looks: looksAtRest }), warnings: [warning] };
  }
}

/** Services have the sandbox's network, and ports of it. */
async function endEverything(sandbox: Sandbox): Promise<void> {
  await sandbox.endProcesses();
  for (const service of sandbox.services.values()) {
    try {
      await service.endProcesses();
    } catch (error) {
      // One that is gone holds nothing.
      if (!(error instanceof SandboxGone)) throw error;
    }
  }
}

interface Patience {
  readonly settleMs: number;
  readonly looks: number;
}

async function prove(
  world: World,
  { sandbox, grading: { plan, task }, run: { signal } }: ProofOf,
  patience: Patience,
): Promise<NetworkProof> {
  const proof = await tried(world, { sandbox, sweep: plan.sweep, signal }, patience);
  const declared = plan.network === 'as-declared' && task.task.networkMode === 'public';
  if (proof.outcome === 'denied' || (proof.outcome === 'as-declared' && declared)) return proof;
  const seen = seenIn(proof);
  const { name } = sandbox.identity;
  throw proof.outcome === 'unprovable'
    ? new ClassifiedError('EgressUnprovable', `closed egress cannot be proved in ${name}: ${seen}`)
    : new ClassifiedError('EgressOpen', `egress is open from ${name}: ${seen}`);
}

async function tried(
  { surveys, waits }: World,
  of: { readonly sandbox: Sandbox; readonly sweep: string; readonly signal: AbortSignal },
  { settleMs, looks }: Patience,
): Promise<NetworkProof> {
  const { sandbox, sweep, signal } = of;
  for (let look = 1; ; look += 1) {
    try {
      return await sandbox.proveNetwork(await surveys.of(sweep, signal), { settleMs, signal });
    } catch (error) {
      if (!(error instanceof UntriedProof) || look === looks) throw error;
      await sleep(waits.sandboxPollMs, undefined, { signal });
    }
  }
}

/** What answered; where nothing did, what could not be shown, or the interfaces that should not be there. */
function seenIn({ outcome, probes, interfaces }: NetworkProof): string {
  const wanted = outcome === 'unprovable' ? 'unprovable' : 'open';
  const targets = probes.filter((probe) => probe.outcome === wanted).map(({ target }) => target);
  return targets.length > 0 ? targets.join(', ') : interfaces.map(({ name }) => name).join(', ');
}
