// The rights of the driver: what is asked for at start, and how a missing one is told.
import { readFile, readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Client } from '../../k8s/client.ts';
import { checkPermissions, permissions, rbacRules } from '../../k8s/permissions.ts';

const Asked = z.object({
  kind: z.literal('SelfSubjectAccessReview'),
  spec: z.object({
    resourceAttributes: z.object({
      group: z.string(),
      resource: z.string(),
      subresource: z.string().optional(),
      verb: z.string(),
      namespace: z.string().optional(),
    }),
  }),
});
type Attributes = z.infer<typeof Asked>['spec']['resourceAttributes'];

/** An API server's answers by a rule of the test's own; it remembers what it was asked. */
function reviews(allowed: (asked: Attributes) => boolean): {
  readonly client: Pick<Client, 'call'>;
  readonly asked: Attributes[];
} {
  const asked: Attributes[] = [];
  return {
    asked,
    client: {
      call: ({ body }, schema) => {
        const attributes = Asked.parse(body).spec.resourceAttributes;
        asked.push(attributes);
        return Promise.resolve(schema.parse({ status: { allowed: allowed(attributes) } }));
      },
    },
  };
}

/** In a path of the API. Whether a right is granted may be asked by anybody. */
const kindOfPath =
  /\/(?:api|apis\/(?!authorization\.)[a-z0-9.]+)\/v1\/(?:namespaces\/\$\{[^}]+\}\/)?([a-z]+)/g;

describe('permissions', () => {
  test('nothing is missing where every right is granted, and each verb was asked for once', async () => {
    const { client, asked } = reviews(() => true);
    expect(await checkPermissions(client, 'trials')).toEqual([]);
    const verbs = permissions.reduce((count, rule) => count + rule.verbs.length, 0);
    expect(new Set(asked.map((attributes) => JSON.stringify(attributes))).size).toBe(verbs);
  });

  test('a missing right is named with its verb, its place and what it is for', async () => {
    const { client } = reviews(({ subresource, verb }) => !(subresource === 'exec' && verb === 'create'));
    const missing = await checkPermissions(client, 'trials');
    expect(missing).toHaveLength(1);
    expect(missing[0]).toMatch(/^pods\/exec create in namespace trials: starts the toolbox in a pod/);
  });

  test('a right over what belongs to no namespace is asked for without one', async () => {
    const { client, asked } = reviews(({ resource }) => resource !== 'nodes');
    const missing = await checkPermissions(client, 'trials');
    expect(missing.map((line) => line.split(':')[0])).toEqual(['nodes list in the cluster']);
    expect(asked.filter(({ resource }) => resource === 'nodes').map(({ namespace }) => namespace)).toEqual([
      undefined,
    ]);
  });

  test('an API server that fails is an error and no missing right', async () => {
    const client: Pick<Client, 'call'> = { call: () => Promise.reject(new Error('503')) };
    await expect(checkPermissions(client, 'trials')).rejects.toThrow('503');
  });

  test('no rule has a wildcard, touches a Secret, or changes anything outside the namespace of trials', () => {
    for (const { scope, resource, verbs } of permissions) {
      expect([resource, ...verbs].join()).not.toContain('*');
      expect(resource).not.toBe('secrets');
      if (scope === 'cluster') expect(['get', 'list', 'watch']).toEqual(expect.arrayContaining([...verbs]));
    }
  });

  test('every rule goes to the Role or to the ClusterRole', () => {
    expect(rbacRules('trials').length + rbacRules('cluster').length).toBe(permissions.length);
  });

  test('every kind that a path of k8s/ names has a rule, and every rule such a path', async () => {
    const files = (await readdir('k8s', { recursive: true })).filter((name) => name.endsWith('.ts'));
    const texts = await Promise.all(files.map((name) => readFile(`k8s/${name}`, 'utf8')));
    const named = texts.flatMap((text) => [...text.matchAll(kindOfPath)].map(([, kind]) => kind));
    const ruled = permissions.map(({ resource }) => resource.split('/')[0]);
    expect([...new Set(named)].toSorted()).toEqual([...new Set(ruled)].toSorted());
  });
});
