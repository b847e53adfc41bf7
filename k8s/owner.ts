// The owner of a sweep's pods: one ConfigMap, with which the cluster itself removes whatever of the sweep is left.
import { createHash } from 'node:crypto';
import type { V1OwnerReference } from '@kubernetes/client-node';
import { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import { sweepLabels } from '../domain/sandbox-labels.ts';
import type { Client } from './client.ts';
import { InTheWay, NotThere } from './kube-errors.ts';
import { labelsOf, selectorOf } from './labels.ts';

const Owned = z.object({
  metadata: z.object({ name: z.string(), uid: z.string(), deletionTimestamp: z.string().optional() }),
});
const OwnedList = z.object({ items: z.array(Owned) });

/** Labels that name a sweep of a store. */
const sweepKeys = Object.keys(sweepLabels('store', 'sweep'));

/** Between its removal and its making anew. */
const tries = 10;
const pauseMs = 200;

export class Owners {
  readonly #client: Client;
  readonly #namespace: string;

  constructor(client: Client, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  /**
   * The owner of what carries these labels, made where it is not there; null where they name no sweep. Asked for at
   * every pod: one that was removed since owns nothing, and takes with it at once what is said to be its own.
   */
  async of(labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<V1OwnerReference | null> {
    const ofSweep = Object.fromEntries(
      Object.entries(labels)
        .filter(([key]) => sweepKeys.includes(key))
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    );
    if (Object.keys(ofSweep).length < sweepKeys.length) return null;
    const hash = createHash('sha256').update(JSON.stringify(ofSweep)).digest('hex');
    const name = `pb-sweep-${hash.slice(0, 20)}`;
    for (let tried = 0; tried < tries; tried += 1) {
      const found = (await this.#find(name, signal)) ?? (await this.#make(name, ofSweep, signal));
      if (found !== null && found.metadata.deletionTimestamp === undefined) {
        return { apiVersion: 'v1', kind: 'ConfigMap', name, uid: found.metadata.uid };
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    throw new ClassifiedError('PlatformUnavailable', `ConfigMap ${name} is being removed, and does not go`);
  }

  /** Removes those of all sweeps that carry the labels. */
  async removeAll(labels: Readonly<Record<string, string>>): Promise<void> {
    const query = { labelSelector: selectorOf(labels) };
    const listed = await this.#client.call(
      { what: 'listing ConfigMaps', path: this.#path, query },
      OwnedList,
    );
    for (const { metadata } of listed.items) {
      const path = `${this.#path}/${encodeURIComponent(metadata.name)}`;
      const body = { propagationPolicy: 'Background' };
      try {
        await this.#client.call({ what: 'removing a ConfigMap', method: 'DELETE', path, body }, z.unknown());
      } catch (error) {
        if (!(error instanceof NotThere)) throw error;
      }
    }
  }

  get #path(): string {
    return `/api/v1/namespaces/${encodeURIComponent(this.#namespace)}/configmaps`;
  }

  async #find(name: string, signal?: AbortSignal): Promise<z.infer<typeof Owned> | null> {
    try {
      const path = `${this.#path}/${encodeURIComponent(name)}`;
      return await this.#client.call({ what: `looking at ConfigMap ${name}`, path, signal }, Owned);
    } catch (error) {
      if (error instanceof NotThere) return null;
      throw error;
    }
  }

  /** Null where somebody else made it just now. */
  async #make(
    name: string,
    labels: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<z.infer<typeof Owned> | null> {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels: labelsOf(labels, null) } };
    const what = `creating ConfigMap ${name}`;
    try {
      return await this.#client.call({ what, method: 'POST', path: this.#path, body, signal }, Owned);
    } catch (error) {
      if (error instanceof InTheWay) return null;
      if (!(error instanceof NotThere)) throw error;
      const message = `namespace ${this.#namespace} is not there: the chart, or kubectl, makes it`;
      throw new ClassifiedError('ConfigInvalid', message, { cause: error });
    }
  }
}
