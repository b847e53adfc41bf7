// The owner of a sweep's pods: one ConfigMap, with which the cluster itself removes whatever of the sweep is left.
import { createHash } from 'node:crypto';
import type { V1OwnerReference } from '@kubernetes/client-node';
import { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import { sweepLabels, workflowLabel } from '../domain/sandbox-labels.ts';
import { sweepOfWorkflow, sweepWorkflowId } from '../domain/workflow-ids.ts';
import type { ListedSandbox } from '../sandbox/port.ts';
import type { Client } from './client.ts';
import { InTheWay, NotThere } from './kube-errors.ts';
import { givenLabels, keys, labelsOf, selectorOf } from './labels.ts';

const strings = z.record(z.string(), z.string()).default({});
const Owned = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    creationTimestamp: z.string().default(''),
    deletionTimestamp: z.string().optional(),
    labels: strings,
    annotations: strings,
  }),
});
type Owned = z.infer<typeof Owned>;
const OwnedList = z.object({ items: z.array(Owned) });

/** Labels that name a sweep of a store. */
const sweepKeys = Object.keys(sweepLabels('store', 'sweep'));

const prefix = 'pb-sweep-';

/** Whether a name is of an owner: no sandbox has one like it. */
export const isOwner = (name: string): boolean => name.startsWith(prefix);

/** Between its removal and its making anew. */
const tries = 10;
const pauseMs = 200;

export class Owners {
  readonly #client: Pick<Client, 'call'>;
  readonly #namespace: string;

  constructor(client: Pick<Client, 'call'>, namespace: string) {
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
    const name = `${prefix}${hash.slice(0, 20)}`;
    const sweep = sweepOfWorkflow(labels[workflowLabel] ?? '');
    const given = sweep === null ? ofSweep : { ...ofSweep, [workflowLabel]: sweepWorkflowId(sweep) };
    for (let tried = 0; tried < tries; tried += 1) {
      const found = (await this.#find(name, signal)) ?? (await this.#make(name, { ofSweep, given }, signal));
      if (found !== null && found.metadata.deletionTimestamp === undefined) {
        return { apiVersion: 'v1', kind: 'ConfigMap', name, uid: found.metadata.uid };
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    throw new ClassifiedError('PlatformUnavailable', `ConfigMap ${name} is being removed, and does not go`);
  }

  /** Removes those of all sweeps that carry the labels. */
  async removeAll(labels: Readonly<Record<string, string>>): Promise<void> {
    for (const { metadata } of await this.#list(labels)) await this.remove(metadata.name);
  }

  /** Removes one, and with it what it owns. Not there: done. */
  async remove(name: string): Promise<void> {
    const body = { propagationPolicy: 'Background' };
    try {
      await this.#client.call(
        { what: `removing ConfigMap ${name}`, method: 'DELETE', path: this.#pathOf(name), body },
        z.unknown(),
      );
    } catch (error) {
      if (!(error instanceof NotThere)) throw error;
    }
  }

  /**
   * Those with the labels that own none of the pods, as a reaper is told of them: with the workflow of their sweep. `pods`
   * is asked for after them, so that none is made in between for an owner that is thought to be idle.
   */
  async idle(
    labels: Readonly<Record<string, string>>,
    pods: () => Promise<readonly { readonly metadata: Pick<Owned['metadata'], 'labels'> }[]>,
  ): Promise<readonly ListedSandbox[]> {
    // They carry no others.
    if (!Object.keys(labels).every((key) => sweepKeys.includes(key))) return [];
    const owners = await this.#list(labels);
    if (owners.length === 0) return [];
    const busy = new Set((await pods()).map(({ metadata }) => sweepIn(metadata.labels)));
    return owners
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .filter(({ metadata }) => !busy.has(sweepIn(metadata.labels)))
      .map(({ metadata }) => ({
        name: metadata.name,
        labels: givenLabels(metadata.annotations) ?? {},
        createdAt: metadata.creationTimestamp,
      }));
  }

  async #list(labels: Readonly<Record<string, string>>): Promise<readonly Owned[]> {
    const query = { labelSelector: selectorOf(labels) };
    const what = 'listing ConfigMaps';
    return (await this.#client.call({ what, path: this.#path, query }, OwnedList)).items;
  }

  get #path(): string {
    return `/api/v1/namespaces/${encodeURIComponent(this.#namespace)}/configmaps`;
  }

  #pathOf(name: string): string {
    return `${this.#path}/${encodeURIComponent(name)}`;
  }

  async #find(name: string, signal?: AbortSignal): Promise<Owned | null> {
    try {
      const what = `looking at ConfigMap ${name}`;
      return await this.#client.call({ what, path: this.#pathOf(name), signal }, Owned);
    } catch (error) {
      if (error instanceof NotThere) return null;
      throw error;
    }
  }

  /** Null where somebody else made it just now. */
  async #make(
    name: string,
    { ofSweep, given }: { readonly ofSweep: Record<string, string>; readonly given: Record<string, string> },
    signal?: AbortSignal,
  ): Promise<Owned | null> {
    const annotations = { [keys.labels]: JSON.stringify(given) };
    const metadata = { name, labels: labelsOf(ofSweep, null), annotations };
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
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

/** Which sweep of which store labels are of. */
const sweepIn = (labels: Readonly<Record<string, string>>): string =>
  JSON.stringify(sweepKeys.map((key) => labels[key]));
