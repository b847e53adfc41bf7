// What a pod cannot run, by the names of what a task needs.
import type { Task } from '../domain/task.ts';

/**
 * Empty where the Kubernetes driver can run the task. Its namespace lets no pod of a trial out: a task that is to have
 * the network that it declares has none to be given. Without one, an allowlist of it asks for nothing. What one pod
 * cannot give of a compose file is refused where that file is read (docs/compose.md).
 */
export function kubernetesLacks(
  task: Pick<Task, 'needs'> & Partial<Pick<Task, 'networkMode'>>,
  network: 'deny' | 'as-declared',
): readonly string[] {
  const runs = (need: Task['needs'][number]): boolean =>
    need === 'compose' || (need === 'allowlist' && network === 'deny');
  const needs = task.needs.filter((need) => !runs(need));
  return network === 'as-declared' && task.networkMode === 'public' ? [...needs, 'public network'] : needs;
}
