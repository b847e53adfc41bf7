// Whether a node can run a process just now: what a sandbox is blamed for must go well in a pod beside it.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import { ClassifiedError } from '../domain/errors.ts';
import { supervisorPath } from '../sandbox/supervised/supervisor.ts';
import { SandboxGone } from '../sandbox/port.ts';
import type { KubernetesConfig } from './config.ts';
import { ExecRefused, NotRunning, openExec } from './exec.ts';
import { InTheWay, NotThere, QuotaExceeded } from './kube-errors.ts';
import { givenLabels } from './labels.ts';
import { mainContainer, type ObservedPod } from './observed-pod.ts';
import { bareSpec, headOf, securityOf } from './pod-spec.ts';
import { place, type PlaceParts } from './place.ts';

/** The exec itself takes milliseconds. */
const waitMs = 10_000;
/** A pod that is to show that its node works has this long to come up. */
const placeSec = 30;
/** What went well is taken to go well for a while. */
const keptMs = 10_000;

/** A full quota or node, say: asked again later, in the same sandbox. */
class Untried extends ClassifiedError {
  constructor(node: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super('PlatformUnavailable', `whether node ${node} runs a process cannot be tried: ${why}`, { cause });
  }
}

export class Controls {
  readonly #parts: PlaceParts;
  readonly #config: KubernetesConfig['pod'];
  readonly #worked = new Map<string, number>();
  readonly #running = new Map<string, Promise<boolean>>();

  constructor(parts: PlaceParts, config: KubernetesConfig['pod']) {
    this.#parts = { ...parts, placeSec };
    this.#config = config;
  }

  /**
   * Makes a pod of the same image on the same node that nothing of a task has run in, executes the toolbox in it and
   * removes it. False where that fails: then the node, or the way to it, may be what fails in the sandbox too.
   * ClassifiedError PlatformUnavailable where there is no room to try: nobody is blamed for what could not be looked at.
   */
  async works(sandbox: ObservedPod): Promise<boolean> {
    const node = sandbox.spec.nodeName;
    if (performance.now() - (this.#worked.get(node) ?? -Infinity) < keptMs) return true;
    const running =
      this.#running.get(node) ?? this.#try(sandbox, node).finally(() => this.#running.delete(node));
    this.#running.set(node, running);
    const worked = await running;
    if (worked) this.#worked.set(node, performance.now());
    return worked;
  }

  async #try(sandbox: ObservedPod, node: string): Promise<boolean> {
    const { pods } = this.#parts;
    const name = `${sandbox.metadata.name.slice(0, 40)}-control-${randomUUID().slice(0, 8)}`;
    try {
      const pod = await this.#place(sandbox, { name, node });
      return (await this.#statusOfExec(pod.metadata.name)) === 0;
    } catch (error) {
      if (clusterFailed(error) && !(error instanceof Untried)) return false;
      throw error;
    } finally {
      // Where this fails too, it is found by its labels when its sandbox is cleaned up.
      await pods.remove(name).catch((error: unknown) => {
        if (!clusterFailed(error)) throw error;
      });
    }
  }

  async #place(
    sandbox: ObservedPod,
    of: { readonly name: string; readonly node: string },
  ): Promise<ObservedPod> {
    try {
      return await place(this.#parts, this.#podOf(sandbox, of));
    } catch (error) {
      if (!clusterFailed(error)) throw error;
      throw new Untried(of.node, error);
    }
  }

  /** With the labels of the sandbox: where we end before it is removed, the sandbox's own clean-up finds it. */
  #podOf(sandbox: ObservedPod, { name, node }: { readonly name: string; readonly node: string }): V1Pod {
    const labels = givenLabels(sandbox.metadata.annotations) ?? {};
    return {
      ...headOf({ name, labels }, 'control', null),
      spec: {
        ...bareSpec(this.#config, false),
        nodeName: node,
        activeDeadlineSeconds: 2 * placeSec,
        containers: [
          {
            name: mainContainer,
            image: sandbox.spec.containers[0]?.image ?? '',
            imagePullPolicy: 'IfNotPresent',
            command: [supervisorPath, 'idle'],
            workingDir: '/',
            securityContext: securityOf(''),
            resources: {
              requests: { cpu: '10m', memory: '32Mi', 'ephemeral-storage': '1Mi' },
              limits: { cpu: '1', memory: '128Mi', 'ephemeral-storage': '64Mi' },
            },
          },
        ],
      },
    };
  }

  async #statusOfExec(name: string): Promise<number | null> {
    const { pods } = this.#parts;
    const stream = await openExec(pods.client, pods.pathOf(name), { command: [supervisorPath, 'version'] });
    try {
      const over = new Promise((resolve) =>
        stream.once('close', resolve).once('error', resolve).once('end', resolve),
      );
      stream.resume();
      await Promise.race([over, sleep(waitMs, undefined, { ref: false })]);
      return stream.outcome?.exitCode ?? null;
    } finally {
      stream.destroy();
    }
  }
}

const clusterFailed = (error: unknown): boolean =>
  [NotThere, InTheWay, QuotaExceeded, NotRunning, ExecRefused, SandboxGone, ClassifiedError].some(
    (kind) => error instanceof kind,
  );
