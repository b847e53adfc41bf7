// Shared mode: the tests run in the agent's own sandbox, beside what it left running.
import { DeltaManifestSchema } from '../../domain/delta.ts';
import { doubtfulDetails, judge } from '../../domain/verify.ts';
import { readJsonRef } from '../../store/objects.ts';
import { openAgentSandbox } from '../provision.ts';
import { isLastStep } from '../subject.ts';
import type { World } from '../world.ts';
import { isOwnDoing } from '../barrier.ts';
import { checkSharedOracle } from './oracle-check.ts';
import { endedFromInside, runTests, testsId, type TestsRun } from './run-tests.ts';
import { verificationOf, type StepToVerify, type Verified } from './verification.ts';

/**
 * Planted and rewritten rewards and replaced tests are stopped here, and nothing else (docs/threat-model.md): no
 * process is stopped before test.sh, so that a service which the task asks for is there to be tested.
 */
export async function verifyShared(world: World, task: StepToVerify): Promise<Verified> {
  const { index, ground, delta } = task;
  const tests = await testsInPlace(world, task);
  const oracle = ground.oracle?.[index];
  const { result, detail } = judge(tests, oracle?.assertions ?? []);
  if (detail !== null && doubtfulDetails.includes(detail) && oracle !== undefined) {
    await checkSharedOracle(world, { ...task, oracle, detail });
  }
  // The agent's own sandbox is named where it was provisioned.
  const { missing } = await readJsonRef(world.store, delta, DeltaManifestSchema);
  return {
    verification: { ...verificationOf(tests, result, detail), withheld: [], missing, restoredOutput: null },
    ambiguousKeys: [...tests.ambiguousKeys],
    exitCode: tests.exitCode,
    sandboxes: [],
  };
}

async function testsInPlace(world: World, { grading, index, run }: StepToVerify): Promise<TestsRun> {
  try {
    const sandbox = await openAgentSandbox(world, grading);
    const how = { mode: 'shared', imageOwnsTests: false } as const;
    const tests = await runTests(world, sandbox, { grading, step: index, ...how, run });
    if (!isLastStep(grading, index) && tests.end !== 'gone' && tests.end !== 'oom') {
      // What these tests left running is no part of the next step.
      await sandbox.kill(testsId(index, tests.turn));
      await sandbox.removePaths(['/tests', '/logs/verifier']);
    }
    return tests;
  } catch (error) {
    if (isOwnDoing(error)) return endedFromInside(error);
    throw error;
  }
}
