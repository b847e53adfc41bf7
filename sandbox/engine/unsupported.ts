// What a container engine cannot run, by the names of what a task needs.
import type { Task } from '../../domain/task.ts';

/** Empty where the engine driver can run the task. Without a network, an allowlist of it asks for nothing. */
export function engineLacks(task: Pick<Task, 'needs'>, network: 'deny' | 'as-declared'): readonly string[] {
  return task.needs.filter((need) => need !== 'allowlist' || network === 'as-declared');
}
