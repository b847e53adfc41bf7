// What the ways of verifying share: what is verified, what comes of it, and the error that forms no verdict.
import { ClassifiedError } from '../../domain/errors.ts';
import type { Ref } from '../../domain/refs.ts';
import type { Verification } from '../../domain/verdict.ts';
import type { Ground } from '../ground.ts';
import type { VerifyRecord } from '../phase-records.ts';
import type { Grading } from '../subject.ts';
import type { Run } from '../world.ts';
import type { TestsRun } from './run-tests.ts';

export interface StepToVerify {
  readonly grading: Grading;
  readonly index: number;
  readonly ground: Ground;
  /** The manifest of the step's end. */
  readonly delta: Ref;
  readonly run: Run;
}

/** What a verification comes to; whether the next step is reached is decided from it. */
export type Verified = Pick<VerifyRecord, 'verification' | 'ambiguousKeys' | 'exitCode' | 'sandboxes'>;

/** What a run of the tests says, before what was withheld and missing is added. */
export const verificationOf = (
  tests: TestsRun,
  result: Verification['result'],
  detail: Verification['detail'],
): Omit<Verification, 'withheld' | 'missing' | 'restoredOutput'> => ({
  result,
  detail,
  reward: tests.reward,
  rewards: { ...tests.rewards },
  assertions: [...tests.assertions],
  warnings: [...tests.warnings],
  verifierMs: tests.verifierMs,
  output: tests.output,
});

/** The oracle fails here as well: no verdict can be formed. */
export const brokenVerifier = (grading: Grading, detail: string): ClassifiedError =>
  new ClassifiedError(
    'VerifierBroken',
    `the verifier of ${grading.task.id} ended with ${detail}, and so it does for the oracle, which the gate passed`,
  );
