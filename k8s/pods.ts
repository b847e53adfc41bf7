// The pods of one namespace: made, looked at, listed and removed by plain calls.
import type { V1Pod } from '@kubernetes/client-node';
import { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import type { Call, Client } from './client.ts';
import { NotThere } from './kube-errors.ts';
import { ObservedPod, PodList } from './observed-pod.ts';

export type FindLimits = Pick<Call, 'signal' | 'timeoutMs'>;

const pageSize = '500';

export class Pods {
  readonly client: Client;
  readonly namespace: string;

  constructor(client: Client, namespace: string) {
    this.client = client;
    this.namespace = namespace;
  }

  get path(): string {
    return `/api/v1/namespaces/${encodeURIComponent(this.namespace)}/pods`;
  }

  pathOf(name: string): string {
    return `${this.path}/${encodeURIComponent(name)}`;
  }

  /** InTheWay where the name is taken, QuotaExceeded, or ClassifiedError. */
  async create(pod: V1Pod, signal?: AbortSignal): Promise<ObservedPod> {
    const what = `creating pod ${pod.metadata?.name ?? ''}`;
    try {
      return await this.client.call(
        { what, method: 'POST', path: this.path, body: pod, signal },
        ObservedPod,
      );
    } catch (error) {
      if (!(error instanceof NotThere)) throw error;
      const message = `cluster, ${what}: ${error.message}: the namespace of trials is not there`;
      throw new ClassifiedError('ConfigInvalid', message, { cause: error });
    }
  }

  /** As the API server has stored it last, null where there is none of this name. */
  async find(name: string, limits: FindLimits = {}): Promise<ObservedPod | null> {
    try {
      const what = `looking at pod ${name}`;
      return await this.client.call({ what, path: this.pathOf(name), ...limits }, ObservedPod);
    } catch (error) {
      if (error instanceof NotThere) return null;
      throw error;
    }
  }

  async list(labelSelector: string, signal?: AbortSignal): Promise<readonly ObservedPod[]> {
    const found: ObservedPod[] = [];
    let next: string | undefined;
    do {
      const query = { labelSelector, limit: pageSize, ...(next === undefined ? {} : { continue: next }) };
      const page = await this.client.call({ what: 'listing pods', path: this.path, query, signal }, PodList);
      found.push(...page.items);
      next = page.metadata.continue;
    } while (next !== undefined && next !== '');
    return found;
  }

  /** At once, whatever it does. Not there: done. */
  async remove(name: string): Promise<void> {
    const body = { gracePeriodSeconds: 0, propagationPolicy: 'Background' };
    try {
      await this.client.call(
        { what: `removing pod ${name}`, method: 'DELETE', path: this.pathOf(name), body },
        z.unknown(),
      );
    } catch (error) {
      if (!(error instanceof NotThere)) throw error;
    }
  }

  /** The last lines that PID 1 of a container wrote, in one. */
  async logOf(name: string, container: string): Promise<string> {
    const query = { container, tailLines: '5', limitBytes: '4096' };
    const text = await this.client.text({
      what: `the log of pod ${name}`,
      path: `${this.pathOf(name)}/log`,
      query,
    });
    return text
      .trim()
      .replaceAll(/\s*\n\s*/g, '; ')
      .slice(-1_000);
  }
}
