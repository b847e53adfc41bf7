// The cluster's side of one sandbox: streams by exec, state by what the API server has stored of its pod.
import { setTimeout as sleep } from 'node:timers/promises';
import { supervisorPath } from '../sandbox/supervised/supervisor.ts';
import type { ProofTarget } from '../sandbox/egress.ts';
import { SandboxGone, type SandboxState } from '../sandbox/port.ts';
import { ConnectionLost } from '../sandbox/protocol/frames.ts';
import { ConnectionEnded } from '../sandbox/supervised/connections.ts';
import type { Link, StreamEnding, SupervisorStream } from '../sandbox/supervised/link.ts';
import type { Controls } from './control.ts';
import { ExecRefused, NodeSilent, NotRunning, openExec } from './exec.ts';
import type { ExecStream } from './exec-stream.ts';
import { NotThere } from './kube-errors.ts';
import { serviceEnd, stateOf } from './pod-state.ts';
import type { Pods } from './pods.ts';

export interface LinkedPod {
  readonly name: string;
  readonly uid: string;
  /** As `lifeOf` told it of the pod. */
  readonly startedAt: string;
  readonly hostIP: string;
  readonly volumes: readonly string[];
  /** Where it is the container of a service, and not the sandbox's own. */
  readonly service?: { readonly name: string; readonly container: string };
}

export interface LinkParts {
  readonly pods: Pods;
  readonly controls: Controls;
  readonly nodeGraceSec: number;
}

/** Where every kubelet listens. */
export const kubeletPort = 10_250;
export const kubeletTarget = 'kubelet';

/** A node tells the end of a container a moment after it has refused an exec for it. */
const settleMs = 20_000;
/** By when that of a container which ended by itself is told. */
const toldMs = 2_500;
/** A kubelet that was started anew answers again after seconds. */
const nodePatienceMs = 30_000;
const lookMs = 500;

/**
 * Exit statuses of `connect` that a cut of the stream leaves as well: its input ended, its output took no more
 * (EX_IOERR, SIGPIPE). All others were made inside, or by a node that ends its processes.
 */
const cutStatuses: ReadonlySet<number> = new Set([0, 74, 141]);

/** What the runtime says of an exec in a container that has ended, whose end may not have been told yet. */
const stopped = /container not found|not running|stopped|not created|task .* not found|no running task/i;

export class PodLink implements Link {
  readonly isolation = 'policy';
  readonly #parts: LinkParts;
  readonly #pod: LinkedPod;

  constructor(parts: LinkParts, pod: LinkedPod) {
    this.#parts = parts;
    this.#pod = pod;
  }

  get startedAt(): string {
    return this.#pod.startedAt;
  }

  get volumes(): readonly string[] {
    return this.#pod.volumes;
  }

  get ownTargets(): readonly ProofTarget[] {
    const { hostIP, service } = this.#pod;
    return hostIP === '' || service !== undefined
      ? []
      : [{ name: kubeletTarget, kind: 'tcp', host: hostIP, port: kubeletPort }];
  }

  async openStream(): Promise<SupervisorStream> {
    const { pods } = this.#parts;
    const { name, service } = this.#pod;
    const where = service === undefined ? {} : { container: service.container };
    const until = performance.now() + nodePatienceMs;
    for (;;) {
      try {
        const command = [supervisorPath, 'connect'];
        const stream = await openExec(pods.client, pods.pathOf(name), { command, ...where });
        return { stream, ending: () => this.#ending(stream) };
      } catch (error) {
        if (error instanceof NodeSilent && performance.now() < until) {
          const state = await this.state();
          if (state.kind !== 'alive') throw new SandboxGone(state);
          await sleep(2 * lookMs);
          continue;
        }
        throw await this.#refusal(error);
      }
    }
  }

  async state(): Promise<SandboxState> {
    const { name, uid, startedAt, service } = this.#pod;
    const { pods, nodeGraceSec } = this.#parts;
    const pod = await pods.find(name);
    const state = stateOf(pod, { uid, startedAt, nodeGraceSec }, pods.client.clock.nowMs());
    if (service === undefined || pod === null || state.kind !== 'alive') return state;
    return serviceEnd(pod, service) ?? state;
  }

  /** A kubelet knows it, and tells nobody who may not read all of its node. */
  diskBytes(): Promise<number | null> {
    return Promise.resolve(null);
  }

  async #ending(stream: ExecStream): Promise<StreamEnding> {
    const { diagnostics, outcome } = stream;
    if (outcome === null) return { by: 'unknown', message: diagnostics };
    const { exitCode } = outcome;
    const message = [diagnostics, outcome.message].filter((text) => text !== '').join(': ');
    if (exitCode !== null && cutStatuses.has(exitCode)) return { by: 'unknown', message: diagnostics };
    if (exitCode === null && stopped.test(outcome.message)) {
      await this.#settled(settleMs);
      return { by: 'unknown', message };
    }
    return { by: (await this.#inside()) ? 'inside' : 'unknown', message };
  }

  async #refusal(error: unknown): Promise<unknown> {
    if (error instanceof NotThere) {
      const state = await this.state();
      return state.kind === 'alive'
        ? new ConnectionLost(error.message, { cause: error })
        : new SandboxGone(state);
    }
    if (error instanceof NotRunning) {
      const state = await this.#settled(settleMs);
      return state.kind === 'alive'
        ? new ConnectionLost(error.message, { cause: error })
        : new SandboxGone(state);
    }
    if (!(error instanceof ExecRefused)) return error;
    const { message } = error;
    return (await this.#inside())
      ? new ConnectionEnded({ by: 'inside', message }, error)
      : new ConnectionLost(message, { cause: error });
  }

  /**
   * Whether what runs in the sandbox keeps ours from running in it, or ended it: the node does such a thing for others,
   * and PID 1 lives. Its end is told later than that of the processes that it took with it.
   */
  async #inside(): Promise<boolean> {
    const [works, state] = await Promise.all([this.#nodeWorks(), this.#settled(toldMs)]);
    return works && state.kind === 'alive';
  }

  async #nodeWorks(): Promise<boolean> {
    const pod = await this.#parts.pods.find(this.#pod.name);
    return pod?.metadata.uid === this.#pod.uid && (await this.#parts.controls.works(pod));
  }

  /** The state once the container's end is told, or as it stays for so long. */
  async #settled(withinMs: number): Promise<SandboxState> {
    const until = performance.now() + withinMs;
    for (;;) {
      const state = await this.state();
      if (state.kind !== 'alive' || performance.now() > until) return state;
      await sleep(lookMs);
    }
  }
}
