// The gate's conclusion: the oracle must pass, the nop must not, and what both left is what trials are held to.
import { DeltaManifestSchema } from '../../domain/delta.ts';
import type { RejectionReason } from '../../domain/failures.ts';
import type { GateStep } from '../../domain/gate.ts';
import type { Plan } from '../../domain/sweep.ts';
import type { StepVerdict } from '../../domain/verdict.ts';
import { passedNames } from '../../domain/verify.ts';
import { foldSteps, type FoldedSteps } from '../../domain/verify-steps.ts';
import { readJsonRef } from '../../store/objects.ts';
import { readPrepared, type Prepared } from '../ground.ts';
import { phases, readPhase, type VerifyRecord } from '../phase-records.ts';
import { gateGrading, taskAt, type Grading } from '../subject.ts';
import type { GateSummary } from '../types.ts';
import { pathsOf } from '../verify/separate.ts';
import { readPlanOf, type World } from '../world.ts';
import { refuse, share } from './gate-records.ts';
import type { TaskImages } from './images.ts';
import type { TaskInput } from './prepare-task.ts';

export interface GateSides extends TaskInput {
  readonly environmentMode: 'shared' | 'separate';
  readonly oracle: number | null;
  readonly nop: number | null;
}

export async function concludeGate(
  world: World,
  sides: GateSides,
): Promise<GateSummary | { readonly outcome: 'try-shared' }> {
  const { environmentMode } = sides;
  const plan = await readPlanOf(world, sides.plan);
  const task = taskAt(plan, sides.task);
  const oracle = await sideOf(world, plan, { ...sides, agent: 'oracle', generation: sides.oracle });
  const nop = await sideOf(world, plan, { ...sides, agent: 'nop', generation: sides.nop });
  const gated = { plan, task };
  const reject = async (reason: RejectionReason, message: string): Promise<GateSummary> => {
    const images = await readPrepared(world, gated);
    return share(world, gated, {
      outcome: 'rejected',
      reason,
      message,
      environmentMode,
      ...imagesOf(images),
    });
  };
  // A side that never came to its verification says nothing that another sweep, or the next start, could stand on.
  const refuseSide = (agent: 'oracle' | 'nop'): Promise<GateSummary> =>
    refuse(world, gated, {
      reason: 'oracle-fails',
      message: `the ${agent} could not be run and verified`,
    });
  const [ambiguous] = oracle?.verifications.filter(({ ambiguousKeys }) => ambiguousKeys.length > 0) ?? [];
  if (ambiguous !== undefined) {
    const keys = ambiguous.ambiguousKeys.join(', ');
    return reject('ambiguous-reward', `the reward file has keys ${keys}: name the reward by --reward-key`);
  }
  if (oracle === null || oracle.folded.result !== 'passed') {
    if (environmentMode === 'separate' && task.task.environmentMode === null)
      return { outcome: 'try-shared' };
    if (oracle === null) return refuseSide('oracle');
    const offline = task.task.networkDeclared && plan.network === 'deny';
    return reject(offline ? 'unsolvable-offline' : 'oracle-fails', `the oracle ended ${said(oracle)}`);
  }
  if (nop === null) return refuseSide('nop');
  if (nop.folded.result === 'passed')
    return reject('nop-passes', 'doing nothing passes: the tests test nothing');
  const prepared = await readPrepared(world, gated);
  return share(world, gated, {
    outcome: 'kept',
    reason: null,
    message: null,
    environmentMode,
    oracleVerified: true,
    ...imagesOf(prepared),
    pristine: prepared.pristine,
    steps: await gateSteps(world, oracle),
  });
}

const imagesOf = ({ image, verifierImage, serviceImages }: Prepared): TaskImages => ({
  image,
  verifierImage,
  ...(serviceImages === undefined ? {} : { serviceImages }),
});

interface Side {
  readonly grading: Grading;
  readonly verifications: readonly VerifyRecord[];
  readonly folded: FoldedSteps;
}

interface SideInput extends GateSides {
  readonly agent: 'oracle' | 'nop';
  readonly generation: number | null;
}

async function sideOf(
  world: World,
  plan: Plan,
  { task, agent, environmentMode, generation }: SideInput,
): Promise<Side | null> {
  if (generation === null) return null;
  const grading = gateGrading(plan, { task, agent, environmentMode, generation });
  const verifications: VerifyRecord[] = [];
  const steps: StepVerdict[] = [];
  for (const [index, { name }] of grading.task.task.steps.entries()) {
    const record = await readPhase(world, phases.verify(grading, index));
    if (record !== null) verifications.push(record);
    steps.push({
      name,
      reached: record !== null,
      ending: null,
      endingDetail: null,
      episode: null,
      delta: null,
      verification: record?.verification ?? null,
    });
  }
  return { grading, verifications, folded: foldSteps(steps, grading.task.task.rewardStrategy) };
}

/** What a person needs to see why the oracle is no oracle. */
function said({ folded: { result, detail, reward, withheld }, verifications }: Side): string {
  const parts = [
    `${result}${detail === null ? '' : ` (${detail})`}`,
    `reward ${reward ?? 'none'}`,
    `test.sh exited with ${verifications.at(-1)?.exitCode ?? 'nothing'}`,
    ...(withheld.length > 0
      ? [
          `withheld from the verifier: ${withheld
            .slice(0, 3)
            .map(({ path }) => path)
            .join(', ')}`,
        ]
      : []),
    ...(verifications.at(-1)?.verification.warnings.slice(0, 2) ?? []),
  ];
  return parts.join('; ');
}

async function gateSteps(world: World, { grading, verifications }: Side): Promise<GateStep[]> {
  const steps: GateStep[] = [];
  for (const [index, { verification }] of verifications.entries()) {
    const delta = (await readPhase(world, phases.delta(grading, index)))?.delta ?? null;
    const manifest = delta === null ? null : await readJsonRef(world.store, delta, DeltaManifestSchema);
    steps.push({
      name: grading.task.task.steps[index]?.name ?? '',
      assertions: passedNames(verification.assertions),
      solutionPaths: manifest === null ? [] : pathsOf(manifest),
      delta,
      verifierMs: verification.verifierMs,
    });
  }
  return steps;
}
