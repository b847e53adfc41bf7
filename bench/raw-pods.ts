// Pods by raw calls of the Kubernetes API, for floors: made, waited for, executed in, deleted, and nothing else.
import { CoreV1Api, Exec, type KubeConfig, type V1Pod, type V1Status, Watch } from '@kubernetes/client-node';
import { PassThrough } from 'node:stream';

export class RawPods {
  readonly #core: CoreV1Api;
  readonly #exec: Exec;
  readonly #watch: Watch;
  readonly #namespace: string;
  readonly #waiting = new Map<string, (pod: V1Pod) => void>();
  #stop: AbortController | null = null;
  #stopped = false;

  constructor(kubeConfig: KubeConfig, namespace: string) {
    this.#core = kubeConfig.makeApiClient(CoreV1Api);
    this.#exec = new Exec(kubeConfig);
    this.#watch = new Watch(kubeConfig);
    this.#namespace = namespace;
  }

  /** One watch for all that are waited for. */
  async start(): Promise<void> {
    this.#stop = await this.#watch.watch(
      `/api/v1/namespaces/${this.#namespace}/pods`,
      { labelSelector: 'passband.bench=floor' },
      (_phase, pod: V1Pod) => {
        if (pod.status?.containerStatuses?.[0]?.state?.running !== undefined) {
          this.#waiting.get(pod.metadata?.name ?? '')?.(pod);
        }
      },
      // A watch that nothing happens in is ended by its client.
      () => {
        if (!this.#stopped) void this.start();
      },
    );
  }

  stop(): void {
    this.#stopped = true;
    this.#stop?.abort();
  }

  /** Creates the pod and answers when its container runs. */
  async run(body: V1Pod): Promise<V1Pod> {
    const name = body.metadata?.name ?? '';
    const running = new Promise<V1Pod>((resolve) => this.#waiting.set(name, resolve));
    await this.#core.createNamespacedPod({ namespace: this.#namespace, body });
    const pod = await running;
    this.#waiting.delete(name);
    return pod;
  }

  /** Executes a shell script, its stdout answered. */
  async execute(name: string, script: string, ok = true): Promise<string> {
    const chunks: Buffer[] = [];
    const out = new PassThrough().on('data', (chunk: Buffer) => chunks.push(chunk));
    const status = await new Promise<V1Status>((resolve, reject) => {
      const argv = ['/bin/bash', '-c', script];
      this.#exec
        .exec(this.#namespace, name, 'main', argv, out, new PassThrough().resume(), null, false, resolve)
        .catch(reject);
    });
    if (ok && status.status !== 'Success') throw new Error(`${script.slice(0, 80)}: ${status.message ?? ''}`);
    return Buffer.concat(chunks).toString();
  }

  async delete(name: string): Promise<void> {
    await this.#core.deleteNamespacedPod({ namespace: this.#namespace, name, gracePeriodSeconds: 0 });
  }
}
