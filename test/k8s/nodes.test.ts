// What nodes say of their runtimes, for pods of a class and of none.
import { describe, expect, it } from 'vitest';
import type { Client } from '../../k8s/client.ts';
import { NotThere } from '../../k8s/kube-errors.ts';
import { Nodes } from '../../k8s/nodes.ts';

type Handlers = Readonly<Record<string, boolean>>;

/** A cluster whose nodes have these handlers, and whose one class means one of them by a name of its own. */
function cluster(...nodes: readonly Handlers[]): Nodes {
  const items = nodes.map((handlers, at) => ({
    metadata: { name: `node${at}` },
    status: {
      runtimeHandlers: Object.entries(handlers).map(([name, userNamespaces]) => ({
        ...{ name, features: { userNamespaces } },
      })),
    },
  }));
  const client: Pick<Client, 'call'> = {
    call: ({ path }, schema) => {
      if (path === '/api/v1/nodes') return Promise.resolve(schema.parse({ items }));
      if (path === '/apis/node.k8s.io/v1/runtimeclasses/sandboxed') {
        return Promise.resolve(schema.parse({ metadata: { name: 'sandboxed' }, handler: 'runsc' }));
      }
      return Promise.reject(new NotThere('not found'));
    },
  };
  return new Nodes(client);
}

describe('user namespaces', () => {
  it('are there for pods of a class where every node has them for the handler that it means', async () => {
    const all = cluster({ '': false, runsc: true }, { '': true, runsc: true });
    expect(await all.haveUserNamespaces('sandboxed')).toBe(true);
    const some = cluster({ '': true, runsc: true }, { '': true, runsc: false });
    expect(await some.haveUserNamespaces('sandboxed')).toBe(false);
  });

  it('are not there where a handler has the name of the class alone', async () => {
    expect(await cluster({ '': true, sandboxed: true }).haveUserNamespaces('sandboxed')).toBe(false);
  });

  it('of pods without a class are those of the handler without a name', async () => {
    expect(await cluster({ '': true }).haveUserNamespaces(null)).toBe(true);
    expect(await cluster({ '': true }, { '': false }).haveUserNamespaces(null)).toBe(false);
    expect(await cluster().haveUserNamespaces(null)).toBe(false);
  });

  it('of a class that is not there are bad configuration', async () => {
    await expect(cluster({ '': true }).haveUserNamespaces('none')).rejects.toMatchObject({
      failureClass: 'ConfigInvalid',
    });
  });
});
