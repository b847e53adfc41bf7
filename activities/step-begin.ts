// The beginning of a step: what it lays in the work directory, its set-up script and healthcheck, the oracle's solution.
import { ClassifiedError } from '../domain/errors.ts';
import type { Step, User } from '../domain/task.ts';
import type { Sandbox } from '../sandbox/port.ts';
import { waitHealthy } from './barrier.ts';
import { endPhase, phases, readPhase, type BeginRecord } from './phase-records.ts';
import { stepAt, type Grading } from './subject.ts';
import type { Run, World } from './world.ts';

export interface StepSetUp {
  readonly grading: Grading;
  readonly step: number;
  readonly needsSolution: boolean;
  readonly run: Pick<Run, 'attempt' | 'signal'>;
}

/** Sets a step up once: after its record nothing is laid over the agent's work again. */
export async function beginStep(world: World, sandbox: Sandbox, setUp: StepSetUp): Promise<BeginRecord> {
  const phase = phases.begin(setUp.grading, setUp.step);
  const before = await readPhase(world, phase);
  if (before !== null) return before;
  const warnings = await setUpStep(world, sandbox, setUp);
  const startedAt = world.now().toISOString();
  return endPhase(world, phase, { format: 'passband.phase.begin', version: 1, startedAt, warnings });
}

/** What a step needs before its agent begins. Answers warnings. */
export async function setUpStep(world: World, sandbox: Sandbox, setUp: StepSetUp): Promise<string[]> {
  const { grading, step: index, run } = setUp;
  const step = stepAt(grading, index);
  // Between steps everything is frozen for the delta and the verification.
  if (index > 0) await sandbox.resume();
  const warnings = await layWorkdir(world, sandbox, setUp, step);
  if (step.healthcheck !== null) {
    const { healthcheck } = step;
    await waitHealthy(sandbox, { healthcheck, user: null, name: `healthcheck-${index}`, grading, run });
  }
  if (setUp.needsSolution) {
    const { solutionDir } = step;
    if (solutionDir === null) {
      throw new ClassifiedError('TaskInvalid', `step ${step.name} of ${grading.task.id} has no solution`);
    }
    const files = await world.packages.of(grading.task);
    await sandbox.putFiles(() => files.folder(solutionDir), { dir: '/solution', replace: true, owner: null });
  }
  return warnings;
}

async function layWorkdir(
  world: World,
  sandbox: Sandbox,
  { grading, step: index, run }: StepSetUp,
  step: Step,
): Promise<string[]> {
  const { workdirDir } = step;
  if (workdirDir === null) return [];
  const files = await world.packages.of(grading.task);
  const dir = workdirOf(grading, sandbox);
  await sandbox.putFiles(() => files.folder(workdirDir), {
    dir,
    replace: false,
    owner: ownerOf(step.agentUser, sandbox),
  });
  if ((await files.readFile(`${workdirDir}/setup.sh`)) === null) return [];
  const { exitCode, timedOut, stdout, stderr } = await sandbox.run(
    {
      id: `setup-${index}`,
      argv: [`${dir === '/' ? '' : dir}/setup.sh`],
      cwd: dir,
      timeoutMs: grading.task.task.limits.setupSec.value * 1_000,
      outputLimitBytes: 4_096,
    },
    run.signal,
  );
  if (exitCode === 0 && !timedOut) return [];
  const how = timedOut
    ? `did not end in ${grading.task.task.limits.setupSec.value} s`
    : `exited with ${exitCode}`;
  const said = Buffer.concat([stdout, stderr]).toString().trim().slice(-300);
  const message = `setup.sh of step ${step.name} ${how}: ${said}`;
  // In a later step it may be the agent's own work that breaks it: the step goes on, and its tests decide.
  if (index === 0) throw new ClassifiedError('TaskInvalid', message);
  return [message];
}

/** Where commands of the task run. */
export function workdirOf(grading: Pick<Grading, 'task'>, sandbox: Pick<Sandbox, 'image'>): string {
  const own = grading.task.task.workdir ?? sandbox.image.workdir;
  return own === '' ? '/' : own;
}

/** The owner of files laid for a user: the image's user where the task names none. */
export function ownerOf(user: User, { image }: Pick<Sandbox, 'image'>): User {
  if (user !== null) return user;
  const name = image.user.split(':', 1)[0] ?? '';
  return name === '' ? 0 : name;
}
