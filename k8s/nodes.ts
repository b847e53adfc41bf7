// What is known of the cluster's nodes: how much there is of each resource, and whether they have user namespaces.
import { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import type { Client } from './client.ts';
import { NotThere } from './kube-errors.ts';
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

const RuntimeClass = z.object({ handler: z.string() });

const keptMs = 60_000;

export class Nodes {
  readonly #list: () => Promise<NodeList>;
  readonly #handlerOf: (runtimeClass: string) => Promise<string>;

  constructor(client: Pick<Client, 'call'>) {
    this.#list = kept(() => client.call({ what: 'listing nodes', path: '/api/v1/nodes' }, NodeList));
    const handlers = new Map<string, () => Promise<string>>();
    this.#handlerOf = (runtimeClass) => {
      const known = handlers.get(runtimeClass) ?? kept(() => handlerOf(client, runtimeClass));
      handlers.set(runtimeClass, known);
      return known();
    };
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

  /**
   * Whether every node says that its runtime has them, for pods of this runtime class; null: of none. ClassifiedError
   * ConfigInvalid where there is no such class.
   */
  async haveUserNamespaces(runtimeClass: string | null): Promise<boolean> {
    // What is used without a class has no name.
    const handler = runtimeClass === null ? '' : this.#handlerOf(runtimeClass);
    const [{ items }, named] = await Promise.all([this.#list(), handler]);
    const has = (node: NodeList['items'][number]): boolean =>
      node.status.runtimeHandlers?.some(
        ({ name, features }) => name === named && features?.userNamespaces === true,
      ) === true;
    return items.length > 0 && items.every(has);
  }
}

/** As nodes name it: a class has a name of its own. */
async function handlerOf(client: Pick<Client, 'call'>, runtimeClass: string): Promise<string> {
  const path = `/apis/node.k8s.io/v1/runtimeclasses/${encodeURIComponent(runtimeClass)}`;
  try {
    const { handler } = await client.call({ what: 'reading a runtime class', path }, RuntimeClass);
    return handler;
  } catch (error) {
    if (!(error instanceof NotThere)) throw error;
    const message = `pod.runtimeClassName: the cluster has no runtime class ${runtimeClass}`;
    throw new ClassifiedError('ConfigInvalid', message, { cause: error });
  }
}

/** What was read stands for a while; a failure to read it does not. */
function kept<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { readonly atMs: number; readonly value: Promise<T> } | null = null;
  return () => {
    const now = performance.now();
    if (last === null || now - last.atMs > keptMs) {
      const value = read();
      last = { atMs: now, value };
      value.catch(() => (last = null));
    }
    return last.value;
  };
}
