// The pods of trials as the cluster has them, and what can be done to them from outside.
import { CoreV1Api, type KubeConfig, type V1Pod } from '@kubernetes/client-node';
import { z } from 'zod';
import { workflowLabel } from '../../domain/sandbox-labels.ts';
import { keys } from '../../k8s/labels.ts';

export interface TrialPod {
  readonly name: string;
  readonly node: string;
  /** `SWEEP/TASK/MODEL/SCAFFOLD/NN`; null: it is no trial's. */
  readonly trial: string | null;
}

const LabelsSchema = z.record(z.string(), z.string());
const GoneSchema = z.object({ code: z.literal(404) });

export class TrialPods {
  readonly #core: CoreV1Api;
  readonly #namespace: string;
  readonly #trialOf: (workflow: string) => string | null;

  /** `trialOf`: the trial of a workflow's id. */
  constructor(client: KubeConfig, namespace: string, trialOf: (workflow: string) => string | null) {
    this.#core = client.makeApiClient(CoreV1Api);
    this.#namespace = namespace;
    this.#trialOf = trialOf;
  }

  /** Those that run and are not being deleted. */
  async running(): Promise<readonly TrialPod[]> {
    const { items } = await this.#core.listNamespacedPod({ namespace: this.#namespace });
    return items
      .filter(
        ({ metadata, status }) => status?.phase === 'Running' && metadata?.deletionTimestamp === undefined,
      )
      .map((pod) => ({
        name: pod.metadata?.name ?? '',
        node: pod.spec?.nodeName ?? '',
        trial: this.#trialOf(workflowOf(pod)),
      }));
  }

  /** One that is gone meanwhile is let be. */
  async delete(name: string, { byForce }: { readonly byForce: boolean }): Promise<void> {
    const grace = byForce ? { gracePeriodSeconds: 0 } : {};
    await orGone(this.#core.deleteNamespacedPod({ namespace: this.#namespace, name, ...grace }));
  }

  /** By the Eviction API, as a drain does. One that is gone meanwhile is let be. */
  async evict(name: string): Promise<void> {
    const metadata = { name, namespace: this.#namespace };
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata };
    await orGone(this.#core.createNamespacedPodEviction({ ...metadata, body }));
  }
}

function workflowOf({ metadata }: V1Pod): string {
  const labels = LabelsSchema.safeParse(JSON.parse(metadata?.annotations?.[keys.labels] ?? '{}'));
  return labels.data?.[workflowLabel] ?? '';
}

async function orGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!GoneSchema.safeParse(error).success) throw error;
  }
}
