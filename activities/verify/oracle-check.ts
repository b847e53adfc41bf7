// The oracle verified once more where a verification left no reward: whose fault that is decides whether it counts.
import { ClassifiedError } from '../../domain/errors.ts';
import type { GateStep } from '../../domain/gate.ts';
import type { Terminal } from '../../domain/ports.ts';
import { judge } from '../../domain/verify.ts';
import type { Sandbox } from '../../sandbox/port.ts';
import { scaffoldNamed } from '../../scaffolds/index.ts';
import { openBarrier } from '../barrier.ts';
import { envOf } from '../environment.ts';
import { setUpStep } from '../step-begin.ts';
import { stepAt } from '../subject.ts';
import type { World } from '../world.ts';
import { inFreshSandbox } from './fresh-sandbox.ts';
import { runTests } from './run-tests.ts';
import { brokenVerifier, type StepToVerify } from './verification.ts';

export interface SharedCheck extends StepToVerify {
  readonly oracle: GateStep;
  readonly detail: string;
}

/**
 * In shared mode what the oracle left running belongs to its final state, and no delta holds it: the solution is run
 * once more, step by step, in a sandbox of its own.
 * @throws ClassifiedError VerifierBroken where that is not passed either
 */
export async function checkSharedOracle(world: World, check: SharedCheck): Promise<void> {
  const { grading, index, ground, run } = check;
  const use = {
    grading,
    phase: `oracle-${index}`,
    image: ground.image,
    serviceImages: ground.serviceImages,
    env: envOf(world, grading.task.task.env),
    run,
  };
  const tests = await inFreshSandbox(world, use, async (sandbox) => {
    await openBarrier(world, { sandbox, grading, run });
    for (let step = 0; step <= index; step += 1) await solveStep(world, sandbox, check, step);
    const how = { mode: 'shared', imageOwnsTests: false } as const;
    return runTests(world, sandbox, { grading, step: index, ...how, run });
  });
  if (judge(tests, check.oracle.assertions).result !== 'passed') throw brokenVerifier(grading, check.detail);
}

async function solveStep(
  world: World,
  sandbox: Sandbox,
  { grading, run }: SharedCheck,
  index: number,
): Promise<void> {
  await setUpStep(world, sandbox, { grading, step: index, needsSolution: true, run });
  const step = stepAt(grading, index);
  const terminal: Terminal = {
    act: () => Promise.reject(new ClassifiedError('Unexpected', 'the oracle types nothing')),
    run: async ({ argv, env }) => {
      const { exitCode, timedOut, stdout } = await sandbox.run(
        { id: `oracle-${index}`, argv, env, user: step.agentUser, timeoutMs: step.agentSec.value * 1_000 },
        run.signal,
      );
      return { exitCode, timedOut, output: Buffer.from(stdout).toString() };
    },
  };
  const solutionEnv = envOf(world, grading.task.task.solutionEnv);
  const nobody = {
    name: 'none',
    ask: () => Promise.reject(new ClassifiedError('Unexpected', 'the oracle asks no model')),
  };
  await scaffoldNamed('oracle').episode(
    { instruction: step.instruction, solutionEnv, options: {} },
    { terminal, model: nobody, log: () => undefined, keepMessages: () => undefined },
  );
}
