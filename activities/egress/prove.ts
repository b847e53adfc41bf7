// The network proof of one sandbox, held against the sweep's survey: closed, or nothing goes on.
import { ClassifiedError } from '../../domain/errors.ts';
import type { NetworkProof } from '../../domain/network.ts';
import type { Sandbox } from '../../sandbox/port.ts';
import type { Grading } from '../subject.ts';
import type { Run, World } from '../world.ts';

/** A policy reaches a new sandbox late: how long it may, before an answer from outside is an open network. */
const settleMs = 20_000;

export interface ProofOf {
  readonly sandbox: Sandbox;
  readonly grading: Pick<Grading, 'plan' | 'task'>;
  readonly run: Pick<Run, 'signal'>;
}

/**
 * Of a sandbox in which nothing of the task has run.
 * @throws ClassifiedError EgressOpen or EgressUnprovable
 */
export const proveClosed = (world: World, of: ProofOf): Promise<NetworkProof> => prove(world, of, settleMs);

/** Of a sandbox in which an agent worked: it is closed now, or it is open. @throws the same */
export const proveStillClosed = (world: World, of: ProofOf): Promise<NetworkProof> => prove(world, of, 0);

async function prove(
  world: World,
  { sandbox, grading: { plan, task }, run: { signal } }: ProofOf,
  waitMs: number,
): Promise<NetworkProof> {
  const survey = await world.surveys.of(plan.sweep, signal);
  const proof = await sandbox.proveNetwork(survey, { settleMs: waitMs, signal });
  const declared = plan.network === 'as-declared' && task.task.networkMode === 'public';
  if (proof.outcome === 'denied' || (proof.outcome === 'as-declared' && declared)) return proof;
  const seen = seenIn(proof);
  const { name } = sandbox.identity;
  throw proof.outcome === 'unprovable'
    ? new ClassifiedError('EgressUnprovable', `closed egress cannot be proved in ${name}: ${seen}`)
    : new ClassifiedError('EgressOpen', `egress is open from ${name}: ${seen}`);
}

/** What answered; where nothing did, what could not be shown, or the interfaces that should not be there. */
function seenIn({ outcome, probes, interfaces }: NetworkProof): string {
  const wanted = outcome === 'unprovable' ? 'unprovable' : 'open';
  const targets = probes.filter((probe) => probe.outcome === wanted).map(({ target }) => target);
  return targets.length > 0 ? targets.join(', ') : interfaces.map(({ name }) => name).join(', ');
}
