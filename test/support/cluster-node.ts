// What a test does to a node of the project's own cluster: a power cut, a cable pulled, a container killed behind the kubelet's back.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CoreV1Api, type KubeConfig } from '@kubernetes/client-node';

const run = promisify(execFile);
const script = join(import.meta.dirname, '..', 'cluster', 'node.sh');
const readyTimeoutMs = 90_000;

export interface ClusterNode {
  readonly name: string;
  /** A power cut: all that ran on it is gone, undrained. Not ready 20 s later. */
  kill(): Promise<void>;
  /** After `kill`; returns once it is ready and enforces policies. */
  back(): Promise<void>;
  /** Its network is unplugged; its pods live on. */
  cut(): Promise<void>;
  /** After `cut`; returns once it is ready. */
  join(): Promise<void>;
  restartKubelet(): Promise<void>;
  /** SIGKILL for PID 1 of a container, by its id (a pod's status has it, after `containerd://`). */
  killContainer(containerId: string): Promise<void>;
  /** The node's container runtime: `ctr ARGS`. */
  containerCommand(...args: string[]): Promise<string>;
  /** True as `ready` asks, or an error after 90 s. */
  waitReady(ready: boolean): Promise<void>;
}

export function clusterNode(number: number, client: KubeConfig): ClusterNode {
  const name = `node${number}`;
  const act = async (action: string): Promise<void> => {
    await run('bash', [script, String(number), action]);
  };
  const containerCommand = async (...args: string[]): Promise<string> =>
    (await run('bash', [script, String(number), 'ctr', ...args])).stdout;
  const waitReady = (ready: boolean): Promise<void> => untilReady(client, { name, ready });
  return {
    name,
    kill: () => act('kill'),
    back: async () => {
      await act('start');
      await waitReady(true);
    },
    cut: () => act('cut'),
    join: async () => {
      await act('join');
      await waitReady(true);
    },
    restartKubelet: () => act('restart-kubelet'),
    killContainer: async (containerId) => {
      const id = containerId.replace('containerd://', '');
      await containerCommand('tasks', 'kill', '--signal', 'SIGKILL', id);
    },
    containerCommand,
    waitReady,
  };
}

async function untilReady(
  client: KubeConfig,
  { name, ready }: { readonly name: string; readonly ready: boolean },
): Promise<void> {
  const core = client.makeApiClient(CoreV1Api);
  const deadline = performance.now() + readyTimeoutMs;
  for (;;) {
    const node = await core.readNode({ name });
    const condition = node.status?.conditions?.find(({ type }) => type === 'Ready');
    if ((condition?.status === 'True') === ready) return;
    if (performance.now() > deadline) {
      throw new Error(`${name} is ${ready ? 'not ready' : 'still ready'} after ${readyTimeoutMs} ms`);
    }
    await sleep(250);
  }
}
