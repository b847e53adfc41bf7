// One run of a task's tests in a sandbox that is ready for them, up to what they left.
import type { Step } from '../../domain/task.ts';
import type { VerifierRun } from '../../domain/verify.ts';
import type { SandboxGone } from '../../sandbox/port.ts';
import { type CommandResult, type Sandbox } from '../../sandbox/port.ts';
import { readAssertions } from '../../tasks/assertions.ts';
import { parseReward, type RewardReading } from '../../tasks/reward.ts';
import { isOwnDoing } from '../barrier.ts';
import { envOf } from '../environment.ts';
import { underWatch } from '../sandbox-watch.ts';
import { workdirOf } from '../step-begin.ts';
import { stepAt, type Grading } from '../subject.ts';
import type { Run, World } from '../world.ts';
import type { Ref } from '../../domain/refs.ts';
import { isForging } from './forgery.ts';
import { takeTurn } from './take.ts';
import { makeVerifierFolder, readVerifierFolder } from './verifier-folder.ts';

/** Kept of each stream in memory; the whole goes to test-stdout.txt. */
const streamLimitBytes = 16 * 1024;

export interface TestsToRun {
  readonly grading: Grading;
  readonly step: number;
  readonly mode: 'separate' | 'shared';
  /** The image owns its /tests: nothing is laid there. */
  readonly imageOwnsTests: boolean;
  readonly run: Run;
}

export interface TestsRun extends VerifierRun {
  /** Which run of these tests in their sandbox it was, from 1: a lost try's, or a lost worker's, are counted. */
  readonly turn: number;
  readonly rewards: Readonly<Record<string, number>>;
  readonly ambiguousKeys: readonly string[];
  readonly exitCode: number | null;
  readonly verifierMs: number;
  readonly output: Ref | null;
  readonly warnings: readonly string[];
}

/**
 * Lays the clean tests, runs test.sh with the image's environment alone, ends (separate) or freezes (shared) every
 * process, and only then reads the reward. The exit status of test.sh says nothing.
 */
export async function runTests(world: World, sandbox: Sandbox, tests: TestsToRun): Promise<TestsRun> {
  try {
    const watch = { signal: tests.run.signal, world };
    return await underWatch(sandbox, watch, (signal) =>
      runToTheEnd(world, sandbox, { ...tests, run: { ...tests.run, signal } }),
    );
  } catch (error) {
    if (isOwnDoing(error)) return endedFromInside(error);
    throw error;
  }
}

async function runToTheEnd(world: World, sandbox: Sandbox, tests: TestsToRun): Promise<TestsRun> {
  const { grading, mode, step, run } = tests;
  const shared = mode === 'shared';
  const killsBefore = shared ? await oomKillsOf(sandbox) : 0;
  let turn = 1;
  if (shared) {
    // Only while folders are made anew: a loop that writes into one must not keep it from being removed.
    await sandbox.pause();
    turn = await takeTurn(sandbox, `tests-${step}`, run.signal);
    // What a lost try began would write its reward beside this one's tests, as a forger does.
    for (let earlier = 1; earlier < turn; earlier += 1) await sandbox.kill(testsId(step, earlier));
  }
  await layTests(world, sandbox, tests);
  let forged = shared && (await isForging(world, sandbox, run.signal));
  await makeVerifierFolder(sandbox);
  if (shared) await sandbox.resume();
  const tested = await runScript(world, sandbox, { ...tests, turn }, stepAt(grading, step));
  await (shared ? sandbox.pause() : sandbox.endProcesses());
  const { files, output, warnings } = await readVerifierFolder(world, sandbox);
  const reading = parseReward(
    { json: files.get('reward.json') ?? null, txt: files.get('reward.txt') ?? null },
    grading.plan.rewardKey,
  );
  const { assertions, warnings: reportWarnings } = readAssertions(files);
  // What tests that did not come to their end have written so far is no reward.
  const reward = reading.kind === 'reward' && !tested.timedOut ? reading.reward : null;
  if (shared && reward === 1 && !forged) forged = await isForging(world, sandbox, run.signal);
  return {
    turn,
    end: tested.timedOut ? 'timeout' : 'exited',
    oomKills: reward === null ? (await oomKillsOf(sandbox)) - killsBefore : 0,
    reward: forged ? null : reward,
    rewards: 'rewards' in reading ? reading.rewards : {},
    malformed: reading.kind === 'malformed' || reading.kind === 'ambiguous-reward',
    forged,
    assertions,
    ambiguousKeys: reading.kind === 'ambiguous-reward' ? reading.keys : [],
    exitCode: tested.exitCode,
    verifierMs: tested.wallMs,
    output,
    warnings: [
      ...warnings,
      ...warningsOf(reading),
      ...reportWarnings,
      ...(forged ? ['something beside the tests writes reward files: the reward does not stand'] : []),
    ],
  };
}

const oomKillsOf = async (sandbox: Sandbox): Promise<number> => (await sandbox.usage()).oomKills ?? 0;

function warningsOf(reading: RewardReading): readonly string[] {
  if (reading.kind === 'malformed') return [...reading.warnings, `the reward file ${reading.reason}`];
  if (reading.kind !== 'ambiguous-reward') return reading.warnings;
  return [...reading.warnings, `the reward file has keys ${reading.keys.join(', ')}, and none is the reward`];
}

async function layTests(
  world: World,
  sandbox: Sandbox,
  { grading, step, imageOwnsTests }: TestsToRun,
): Promise<void> {
  if (imageOwnsTests) return;
  const files = await world.packages.of(grading.task);
  const { testsDirs } = stepAt(grading, step);
  // What stands at /tests goes first, whatever it is.
  await sandbox.putFiles(() => files.overlay(testsDirs), { dir: '/tests', replace: true, owner: null });
}

/** A later try begins with fresh folders, and so with a run of its own. */
export const testsId = (step: number, turn: number): string => `test-${step}-${turn}`;

function runScript(
  world: World,
  sandbox: Sandbox,
  { grading, step: index, imageOwnsTests, turn, run }: TestsToRun & { readonly turn: number },
  step: Step,
): Promise<CommandResult> {
  return sandbox.run(
    {
      id: testsId(index, turn),
      argv: ['/tests/test.sh'],
      env: envOf(world, step.verifierEnv),
      envBase: 'image',
      cwd: imageOwnsTests ? sandbox.image.workdir || '/' : workdirOf(grading, sandbox),
      user: step.verifierUser,
      timeoutMs: step.verifierSec.value * 1_000,
      outputLimitBytes: streamLimitBytes,
      outputFile: '/logs/verifier/test-stdout.txt',
    },
    run.signal,
  );
}

/** The tests, or the work that they tested, ended the sandbox under themselves. */
export function endedFromInside(error: SandboxGone): TestsRun {
  const oom = error.state.kind === 'gone' && error.state.why === 'oom';
  return {
    turn: 1,
    end: oom ? 'oom' : 'gone',
    oomKills: 0,
    reward: null,
    rewards: {},
    malformed: false,
    forged: false,
    assertions: [],
    ambiguousKeys: [],
    exitCode: null,
    verifierMs: 0,
    output: null,
    warnings: [`the sandbox ended while the tests ran: ${error.message}`],
  };
}
