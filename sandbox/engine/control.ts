// Whether the engine can run a process just now: what a sandbox is blamed for must go well in a container beside it.
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { ClassifiedError } from '../../domain/errors.ts';
import { ulimits } from './container.ts';
import { supervisorPath } from '../supervised/supervisor.ts';
import type { Engine } from './engine.ts';
import { engineCall, InTheWay, NotThere } from './engine-errors.ts';
import { ExecState, type InspectedContainer } from './inspected.ts';

/** The exec itself takes milliseconds. */
const waitMs = 10_000;
/** An engine knows the status a moment after the stream has ended. */
const statusLooks = 20;
const statusPauseMs = 100;

/**
 * Makes a container of the same image that nothing of a task has run in, executes the toolbox in it and removes it.
 * False where any of that fails: then the engine or its machine may be what fails in the sandbox too.
 */
export async function controlWorks(engine: Engine, sandbox: InspectedContainer): Promise<boolean> {
  const name = `${sandbox.Name.replace(/^\//, '').slice(0, 40)}-control-${randomUUID().slice(0, 8)}`;
  try {
    await engineCall('a control container', () => engine.docker.createContainer(controlOf(sandbox, name)));
    await engineCall('starting a control container', () => engine.docker.getContainer(name).start());
    return (await statusOfExec(engine, name)) === 0;
  } catch (error) {
    if (engineFailed(error)) return false;
    throw error;
  } finally {
    await remove(engine, name);
  }
}

/** With the labels of the sandbox: where we end before it is removed, the sandbox's own clean-up finds it. */
function controlOf({ Image, Config }: InspectedContainer, name: string): Docker.ContainerCreateOptions {
  return {
    name,
    Image,
    User: '0:0',
    WorkingDir: '/',
    Entrypoint: [supervisorPath],
    Cmd: ['idle'],
    Labels: { ...Config.Labels },
    HostConfig: {
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: 64,
      Ulimits: ulimits,
    },
  };
}

async function statusOfExec(engine: Engine, name: string): Promise<number | null> {
  const exec = await engineCall('a control exec', () =>
    engine.docker.getContainer(name).exec({
      ...{ Cmd: [supervisorPath, 'version'], User: '0:0', WorkingDir: '/' },
      ...{ AttachStdin: true, AttachStdout: true, AttachStderr: true },
    }),
  );
  // Attached, as a sandbox's are: Podman never tells how a detached one ended.
  const stream: Duplex = await engineCall('starting a control exec', () =>
    exec.start({ hijack: true, stdin: true }),
  );
  try {
    const over = new Promise((resolve) =>
      stream.once('close', resolve).once('error', resolve).once('end', resolve),
    );
    stream.resume();
    await Promise.race([over, sleep(waitMs, undefined, { ref: false })]);
  } finally {
    stream.destroy();
  }
  for (let looks = 0; looks < statusLooks; looks += 1) {
    const { Running, ExitCode } = ExecState.parse(await engineCall('a control exec', () => exec.inspect()));
    if (!Running) return ExitCode;
    await sleep(statusPauseMs);
  }
  return null;
}

async function remove(engine: Engine, name: string): Promise<void> {
  try {
    await engineCall('removing a control container', () =>
      engine.docker.getContainer(name).remove({ force: true, v: true }),
    );
  } catch (error) {
    // Found by its labels when its sandbox is cleaned up.
    if (!engineFailed(error)) throw error;
  }
}

const engineFailed = (error: unknown): boolean =>
  error instanceof NotThere || error instanceof InTheWay || error instanceof ClassifiedError;
