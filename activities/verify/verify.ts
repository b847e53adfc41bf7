// Verification of one step's end, with everything that may make its word doubtful looked into before it counts.
import { meetsMinReward } from '../../domain/verify.ts';
import { endPhase, needPhase, phases, readPhase, type VerifyRecord } from '../phase-records.ts';
import { isLastStep, resolveSubject, stepAt, type Grading } from '../subject.ts';
import { readGround } from '../ground.ts';
import type { StepInput, VerifyOutcome } from '../types.ts';
import type { Run, World } from '../world.ts';
import { verifySeparate } from './separate.ts';
import { verifyShared } from './shared.ts';

export async function verify(world: World, { subject, step }: StepInput, run: Run): Promise<VerifyOutcome> {
  const grading = await resolveSubject(world, subject);
  const phase = phases.verify(grading, step);
  const record =
    (await readPhase(world, phase)) ??
    (await endPhase(world, phase, await verifyStep(world, grading, step, run)));
  const { verification, goOn } = record;
  return { result: verification.result, reward: verification.reward, goOn };
}

async function verifyStep(world: World, grading: Grading, index: number, run: Run): Promise<VerifyRecord> {
  const { delta, warnings } = await needPhase(world, phases.delta(grading, index));
  const step = stepAt(grading, index);
  if (delta === null) return unreadable(warnings);
  const ground = await readGround(world, grading);
  const task = { grading, index, ground, delta, run };
  const verified =
    ground.environmentMode === 'separate'
      ? await verifySeparate(world, task)
      : await verifyShared(world, task);
  const { verification } = verified;
  return {
    format: 'passband.phase.verify',
    version: 1,
    ...verified,
    verification: { ...verification, warnings: [...warnings, ...verification.warnings] },
    goOn: !isLastStep(grading, index) && meetsMinReward(step.minReward, verification),
  };
}

/** No final state can be read: the verifier has nothing to say. */
const unreadable = (warnings: string[]): VerifyRecord => ({
  format: 'passband.phase.verify',
  version: 1,
  verification: {
    result: 'failed',
    detail: 'no-final-state',
    reward: null,
    rewards: {},
    assertions: [],
    withheld: [],
    missing: [],
    warnings,
    verifierMs: 0,
    output: null,
    restoredOutput: null,
  },
  ambiguousKeys: [],
  exitCode: null,
  sandboxes: [],
  goOn: false,
});
