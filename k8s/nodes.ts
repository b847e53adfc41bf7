// What is known of the cluster's nodes: how much there is of each resource, and whether they have user namespaces.
import { z } from 'zod';
import type { Client } from './client.ts';
import { beyondAll } from './scheduling.ts';

const NodeList = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      status: z
        .object({
          allocatable: z.record(z.string(), z.string()).default({}),
          runtimeHandlers: z
            .array(
              z.object({
                name: z.string().default(''),
                features: z.object({ userNamespaces: z.boolean().optional() }).nullish(),
              }),
            )
            .nullish(),
        })
        .prefault({}),
    }),
  ),
});
type NodeList = z.infer<typeof NodeList>;

const keptMs = 60_000;

export class Nodes {
  readonly #client: Client;
  #kept: { readonly atMs: number; readonly list: Promise<NodeList> } | null = null;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Which of the requests no node could meet if nothing else ran on it. */
  async beyond(requests: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<readonly string[]> {
    signal?.throwIfAborted();
    const { items } = await this.#list();
    return beyondAll(
      requests,
      items.map(({ status }) => status.allocatable),
    );
  }

  /** Whether every node's runtime says that it has them, for pods of this runtime class (by its handler's name). */
  async haveUserNamespaces(handler: string): Promise<boolean> {
    const { items } = await this.#list();
    const has = (node: NodeList['items'][number]): boolean =>
      node.status.runtimeHandlers?.some(
        ({ name, features }) => name === handler && features?.userNamespaces === true,
      ) === true;
    return items.length > 0 && items.every(has);
  }

  async #list(): Promise<NodeList> {
    const now = performance.now();
    if (this.#kept === null || now - this.#kept.atMs > keptMs) {
      const list = this.#client.call({ what: 'listing nodes', path: '/api/v1/nodes' }, NodeList);
      this.#kept = { atMs: now, list };
      list.catch(() => (this.#kept = null));
    }
    return this.#kept.list;
  }
}
