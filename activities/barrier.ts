// The network barrier: closed egress is proved from inside before anything of the task runs.
import { setTimeout as sleep } from 'node:timers/promises';
import { ClassifiedError } from '../domain/errors.ts';
import type { NetworkProof } from '../domain/network.ts';
import type { Healthcheck, User } from '../domain/task.ts';
import { SandboxGone, type Sandbox } from '../sandbox/port.ts';
import { smallArchive } from './archives.ts';
import { proveClosed } from './egress/prove.ts';
import { endPhase, phases, readPhase } from './phase-records.ts';
import { openAgentSandbox } from './provision.ts';
import { startTaskServices } from './services.ts';
import { resolveSubject, type Grading } from './subject.ts';
import type { PhaseInput } from './types.ts';
import type { Run, World } from './world.ts';

/** What an image's ENTRYPOINT is given to run: it waits for ever, so that a set-up script has something to exec. */
const idleCommand = ['/opt/passband/bin/supervisor', 'idle'] as const;

/** Every user may write there: the agent's user and the verifier's may differ. */
const logFolders = ['logs', 'logs/agent', 'logs/verifier', 'logs/artifacts'].map((name) => ({
  name: `${name}/`,
  mode: 0o777,
  content: null,
}));

export async function passBarrier(world: World, { subject }: PhaseInput, run: Run): Promise<void> {
  const grading = await resolveSubject(world, subject);
  if ((await readPhase(world, phases.barrier(grading))) !== null) return;
  const sandbox = await openAgentSandbox(world, grading);
  const network = await openBarrier(world, { sandbox, grading, run });
  await endPhase(world, phases.barrier(grading), {
    format: 'passband.phase.barrier',
    version: 1,
    network,
    memoryEnds: sandbox.memoryEnds,
  });
}

export interface BarrierOf {
  readonly sandbox: Sandbox;
  readonly grading: Grading;
  readonly run: Pick<Run, 'attempt' | 'signal'>;
}

/** Proves the network, makes the log folders, starts the image's ENTRYPOINT or the services, waits for the healthcheck. */
export async function openBarrier(world: World, { sandbox, grading, run }: BarrierOf): Promise<NetworkProof> {
  const network = await proveClosed(world, { sandbox, grading, run });
  await sandbox.putFiles(() => smallArchive(logFolders), { dir: '/', replace: false, owner: null });
  const { entrypoint } = sandbox.image;
  const { healthcheck, services } = grading.task.task;
  if (services !== undefined) await startTaskServices(world, { sandbox, grading, run, of: 'agent' });
  else if (entrypoint.length > 0)
    await sandbox.start({ id: 'entrypoint', argv: [...entrypoint, ...idleCommand] });
  if (healthcheck !== null) {
    await waitHealthy(sandbox, { healthcheck, user: null, name: 'healthcheck', grading, run });
  }
  return network;
}

export interface HealthWait {
  readonly healthcheck: Healthcheck;
  readonly user: User;
  /** Its commands' ids begin so. */
  readonly name: string;
  readonly grading: Grading;
  readonly run: Pick<Run, 'attempt' | 'signal'>;
}

/**
 * One success is enough; failures within the start period do not count, then `retries` in a row are the end. At the
 * gate that end is the task's own; after a gate that passed it is this machine's, and the trial starts over.
 * @throws ClassifiedError TaskInvalid or SandboxLost
 */
export async function waitHealthy(sandbox: Sandbox, wait: HealthWait): Promise<void> {
  const { healthcheck, run } = wait;
  const started = performance.now();
  let counted = 0;
  for (let tries = 1; ; tries += 1) {
    const { exitCode, timedOut, stderr } = await sandbox.run(
      {
        // A later try of the activity looks anew: under an id that was used it would get the old answer.
        id: `${wait.name}-${run.attempt}-${tries}`,
        argv: ['/bin/sh', '-c', healthcheck.command],
        user: wait.user,
        timeoutMs: healthcheck.timeoutSec * 1_000,
        outputLimitBytes: 4_096,
      },
      run.signal,
    );
    if (exitCode === 0 && !timedOut) return;
    const starting = performance.now() - started < healthcheck.startPeriodSec * 1_000;
    if (!starting) counted += 1;
    if (counted >= healthcheck.retries) {
      const how = timedOut ? `did not end in ${healthcheck.timeoutSec} s` : `exited with ${exitCode}`;
      const said = Buffer.from(stderr).toString().trim().slice(-300);
      throw new ClassifiedError(
        wait.grading.actor.kind === 'gate' ? 'TaskInvalid' : 'SandboxLost',
        `the healthcheck ${how}, ${counted} times in a row: ${said}`,
      );
    }
    await sleep((starting ? healthcheck.startIntervalSec : healthcheck.intervalSec) * 1_000, undefined, {
      signal: run.signal,
    });
  }
}

/** True where what runs inside a sandbox ended it: an ending or a result, and no loss. */
export const isOwnDoing = (
  error: unknown,
): error is SandboxGone & { readonly state: { readonly kind: 'gone'; readonly cause: 'self' } } =>
  error instanceof SandboxGone && error.state.kind === 'gone' && error.state.cause === 'self';
