// The tasks of a bench: solved in seconds, in small sandboxes, and failed by whoever types anything twice.
import { writeTasks, type TaskFiles } from '../../test/support/small-tasks.ts';

const toml = (agentSec: number): string =>
  [
    ...['schema_version = "1.0"', '[agent]', `timeout_sec = ${agentSec}.0`],
    ...['[verifier]', 'timeout_sec = 30.0', '[environment]', 'network_mode = "no-network"'],
    // What an agent can fill in a moment.
    ...['memory_mb = 64', 'storage_mb = 64', 'workdir = "/work"', ''],
  ].join('\n');

const taskOf = (agentSec: number): TaskFiles => ({
  'task.toml': toml(agentSec),
  'instruction.md': 'Append the word hello to /work/hello.txt, once.\n',
  'solution/solve.sh': '#!/bin/bash\necho hello >> /work/hello.txt\n',
  'tests/test.sh': [
    '#!/bin/bash',
    'echo 0 > /logs/verifier/reward.txt',
    '[ "$(cat /work/hello.txt)" = hello ] && echo 1 > /logs/verifier/reward.txt',
    '',
  ].join('\n'),
});

/** Kubelets notice a full disk late: these have the time for it. */
export const patientTasks: readonly string[] = ['patient'];
/** By their names, which are their slugs too. */
export const benchTasks: readonly string[] = ['first', 'second', ...patientTasks];

/** Writes them below a folder, which it answers. */
export const writeBenchTasks = (dir: string): Promise<string> =>
  writeTasks(
    dir,
    Object.fromEntries(benchTasks.map((name) => [name, taskOf(patientTasks.includes(name) ? 150 : 20)])),
  );
