// What lies in a namespace of the test cluster, by kind and name.
import type { TestCluster } from './cluster.ts';

/** What lies in a namespace, its own permanent things included: pods, owners, Secrets, policies, and whatever else could. */
export async function namesIn(cluster: TestCluster, namespace: string): Promise<readonly string[]> {
  const kinds = 'pods,configmaps,secrets,networkpolicies,services,serviceaccounts,jobs,resourcequotas';
  const said = await cluster.kubectl('get', kinds, '--namespace', namespace, '--output=name');
  return said
    .split('\n')
    .filter((name) => name !== '')
    .toSorted();
}
