// The engine's side of one sandbox: streams by exec, state by inspection.
import type { Duplex } from 'node:stream';
import { ClassifiedError } from '../../domain/errors.ts';
import { ConnectionLost } from '../protocol/frames.ts';
import { SandboxGone, type SandboxState } from '../port.ts';
import { ConnectionEnded } from '../supervised/connections.ts';
import type { Link, StreamEnding, SupervisorStream } from '../supervised/link.ts';
import { supervisorFaultStatus, supervisorPath } from '../supervised/supervisor.ts';
import { controlWorks } from './control.ts';
import { stateOf } from './container-state.ts';
import type { Engine } from './engine.ts';
import { engineCall, InTheWay, NotThere } from './engine-errors.ts';
import { ExecStream } from './exec-stream.ts';
import { ExecState } from './inspected.ts';

export interface EngineContainer {
  readonly id: string;
  readonly name: string;
  readonly startedAt: string;
  readonly diskMiB: number;
  readonly volumes: readonly string[];
}

/** The engine adds up all files of a container for its size: not at every look. */
const sizeEveryMs = 5_000;

/**
 * An exec that the runtime could not start for what is, or is not, in the sandbox (its accounts, which engines look up
 * for each exec, among it): or in its machine, which is out of processes or memory itself, or has lost its runtime. Only
 * what goes well beside it proves which.
 */
const refusedInside = new RegExp(
  [
    'no such file|not found|permission denied|exec format|temporarily unavailable|cannot allocate',
    'symbolic link|is a directory|not a directory|name too long',
    '/etc/(passwd|group)|/merged/|(passwd|group) file|find (user|group)',
  ].join('|'),
  'i',
);

/**
 * Exit statuses of `connect` that a cut of the stream leaves as well: its input ended, its output took no more
 * (EX_IOERR, SIGPIPE). All others were made inside, or by a machine that ends its processes.
 */
const cutStatuses: ReadonlySet<number> = new Set([0, 74, 141]);

export class EngineLink implements Link {
  /** Sandboxes here have no interface but loopback. */
  readonly isolation = 'loopback';
  readonly ownTargets = [];
  readonly #engine: Engine;
  readonly #container: EngineContainer;
  #sizedAtMs = Date.now();

  constructor(engine: Engine, container: EngineContainer) {
    this.#engine = engine;
    this.#container = container;
  }

  get startedAt(): string {
    return this.#container.startedAt;
  }

  get volumes(): readonly string[] {
    return this.#container.volumes;
  }

  async openStream(): Promise<SupervisorStream> {
    try {
      const exec = await engineCall('an exec', (abortSignal) =>
        this.#engine.docker.getContainer(this.#container.id).exec({
          Cmd: [supervisorPath, 'connect'],
          User: '0:0',
          WorkingDir: '/',
          AttachStdin: true,
          AttachStdout: true,
          AttachStderr: true,
          Tty: false,
          abortSignal,
        }),
      );
      const socket: Duplex = await engineCall('starting an exec', () =>
        exec.start({ hijack: true, stdin: true }),
      );
      const stream = new ExecStream(socket);
      return { stream, ending: () => this.#ending(exec.id, stream) };
    } catch (error) {
      throw await this.#streamRefusal(error);
    }
  }

  async state(): Promise<SandboxState> {
    const { id, name } = this.#container;
    const now = Date.now();
    const size = now - this.#sizedAtMs >= sizeEveryMs;
    if (size) this.#sizedAtMs = now;
    try {
      const inspected = await this.#engine.inspectContainer(id, size);
      const settled =
        size || inspected.State.Running ? inspected : await this.#engine.inspectContainer(id, true);
      const state = stateOf(settled, this.#container);
      if (state.kind === 'gone' && state.why === 'disk' && settled.State.Running) await this.#kill();
      if (state.kind === 'gone' && settled.State.ExitCode === supervisorFaultStatus) {
        return { ...state, reason: `${state.reason}: ${await this.#engine.logOf(id)}` };
      }
      return state;
    } catch (error) {
      if (!(error instanceof NotThere)) throw error;
    }
    return (await this.#nameTaken())
      ? { kind: 'replaced', reason: `another container has the name ${name}` }
      : {
          kind: 'gone',
          cause: 'platform',
          why: 'deleted',
          reason: `container ${name} was deleted from outside`,
        };
  }

  async diskBytes(): Promise<number | null> {
    try {
      const inspected = await this.#engine.inspectContainer(this.#container.id, true);
      return inspected.SizeRw ?? null;
    } catch (error) {
      throw await this.#refusal(error);
    }
  }

  async #ending(execId: string, stream: ExecStream): Promise<StreamEnding> {
    const message = stream.diagnostics;
    try {
      const answer = await engineCall('looking at an exec', () =>
        this.#engine.docker.getExec(execId).inspect(),
      );
      const { Running, ExitCode } = ExecState.parse(answer);
      if (Running || ExitCode === null || cutStatuses.has(ExitCode)) return { by: 'unknown', message };
      const by = (await this.#machineWorks()) ? 'inside' : 'unknown';
      return { by, message: `${message} (exit status ${ExitCode})`.trim() };
    } catch (error) {
      if (error instanceof NotThere || error instanceof ClassifiedError) return { by: 'unknown', message };
      throw error;
    }
  }

  /** What the engine's refusal means: the sandbox's end where there is one to see, else what it says. */
  async #refusal(error: unknown): Promise<unknown> {
    if (!(error instanceof NotThere || error instanceof InTheWay || hasStatus(error))) return error;
    const state = await this.state();
    return state.kind === 'alive' ? error : new SandboxGone(state);
  }

  async #streamRefusal(error: unknown): Promise<unknown> {
    const refusal = await this.#refusal(error);
    if (refusal !== error || !(error instanceof Error)) return refusal;
    if (error instanceof ClassifiedError && !hasStatus(error)) return error;
    // The sandbox is alive, and no process could be started in it.
    if (refusedInside.test(error.message) && (await this.#machineWorks()))
      return new ConnectionEnded({ by: 'inside', message: error.message }, error);
    return new ConnectionLost(error.message, { cause: error });
  }

  /** Whether what fails in this sandbox goes well in a container beside it. */
  async #machineWorks(): Promise<boolean> {
    try {
      return await controlWorks(this.#engine, await this.#engine.inspectContainer(this.#container.id));
    } catch (error) {
      if (error instanceof NotThere || error instanceof ClassifiedError) return false;
      throw error;
    }
  }

  async #nameTaken(): Promise<boolean> {
    try {
      await this.#engine.inspectContainer(this.#container.name);
      return true;
    } catch (error) {
      if (error instanceof NotThere) return false;
      throw error;
    }
  }

  /** A sandbox over its disk limit writes no more. */
  async #kill(): Promise<void> {
    try {
      await engineCall('ending a container', () =>
        this.#engine.docker.getContainer(this.#container.id).kill({ signal: 'SIGKILL' }),
      );
    } catch (error) {
      if (!(error instanceof NotThere || error instanceof InTheWay)) throw error;
    }
  }
}

/** Whether the engine itself answered, with an error. */
function hasStatus(error: unknown): boolean {
  return error instanceof ClassifiedError && error.cause instanceof Error && 'statusCode' in error.cause;
}
