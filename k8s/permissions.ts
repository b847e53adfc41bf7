// The rights that the driver needs, as data with their reasons: the chart renders them, and the worker asks for each at start.
import type { V1ResourceAttributes } from '@kubernetes/client-node';
import { z } from 'zod';
import type { Client } from './client.ts';

export interface PermissionRule {
  /** `trials`: in the namespace of trials, by a Role. `cluster`: what belongs to no namespace, by a ClusterRole. */
  readonly scope: 'trials' | 'cluster';
  /** API group; the core's is empty. */
  readonly group: string;
  /** As RBAC spells it, a subresource after a slash. */
  readonly resource: string;
  readonly verbs: readonly string[];
  /** What goes wrong without it. */
  readonly why: string;
}

/** All of them. Nothing reads Secrets, and nothing is made, changed or removed outside the namespace of trials. */
export const permissions: readonly PermissionRule[] = [
  {
    scope: 'trials',
    group: '',
    resource: 'pods',
    verbs: ['get', 'list', 'watch', 'create', 'delete'],
    why: 'makes the pods of trials, sees what becomes of them, and removes them',
  },
  {
    scope: 'trials',
    group: '',
    resource: 'pods/exec',
    verbs: ['create', 'get'],
    why: 'starts the toolbox in a pod; opened as a WebSocket, newer API servers ask for create and older ones for get',
  },
  {
    scope: 'trials',
    group: '',
    resource: 'pods/log',
    verbs: ['get'],
    why: 'says why a pod ended that did not begin',
  },
  {
    scope: 'trials',
    group: '',
    resource: 'configmaps',
    verbs: ['get', 'list', 'create', 'delete'],
    why: 'owns the pods of a sweep, so that none outlives it',
  },
  {
    scope: 'cluster',
    group: '',
    resource: 'nodes',
    verbs: ['list'],
    why: 'tells a task that no node could hold from one that waits for a place',
  },
  {
    scope: 'cluster',
    group: 'node.k8s.io',
    resource: 'runtimeclasses',
    verbs: ['get'],
    why: 'tells which handler of the nodes a runtime class means, and whether that one has user namespaces',
  },
];

const Review = z.object({ status: z.object({ allowed: z.boolean() }) });

/**
 * Asks the API server for every right, all at once. Answers a line for each one that is missing, in the order of `permissions`:
 * `pods/exec create in namespace passband-trials: starts the toolbox in a pod`; none where all are there.
 * Throws as Client.call does.
 */
export async function checkPermissions(
  client: Pick<Client, 'call'>,
  namespace: string,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const asked = permissions.flatMap((rule) => rule.verbs.map((verb) => ({ rule, verb })));
  const answers = await Promise.all(
    asked.map(async ({ rule, verb }) => {
      const where = rule.scope === 'trials' ? `in namespace ${namespace}` : 'in the cluster';
      const right = `${rule.resource} ${verb} ${where}`;
      const { status } = await client.call(
        {
          what: `asking whether we may: ${right}`,
          method: 'POST',
          path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
          body: {
            apiVersion: 'authorization.k8s.io/v1',
            kind: 'SelfSubjectAccessReview',
            spec: { resourceAttributes: attributesOf(rule, verb, namespace) },
          },
          signal,
        },
        Review,
      );
      return status.allowed ? [] : [`${right}: ${rule.why}`];
    }),
  );
  return answers.flat();
}

function attributesOf(rule: PermissionRule, verb: string, namespace: string): V1ResourceAttributes {
  const [resource = '', subresource] = rule.resource.split('/');
  return {
    group: rule.group,
    resource,
    verb,
    ...(subresource !== undefined && { subresource }),
    ...(rule.scope === 'trials' && { namespace }),
  };
}

export interface RbacRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** The rules of the Role or ClusterRole that grants a scope, in the order of `permissions`. */
export function rbacRules(scope: PermissionRule['scope']): readonly (RbacRule & { readonly why: string })[] {
  return permissions
    .filter((rule) => rule.scope === scope)
    .map(({ group, resource, verbs, why }) => ({ apiGroups: [group], resources: [resource], verbs, why }));
}
