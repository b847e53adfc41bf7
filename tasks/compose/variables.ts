// What a harness gives to a compose file by name: as Harbor has them, and as terminal-bench had them.
import type { Limits } from '../../domain/task.ts';
import type { Variables } from './interpolation.ts';

/** Stands for the task's own image wherever the file names it. */
export const mainImageName = 'passband-task-image';

/** Stands for the task's environment/ folder, the folder that relative paths of the file start from. */
export const contextDir = '.';

/** Folders of a host that a harness would bind: what lies below is made by the harness itself, or by nobody. */
export const hostLogs = '/passband-host-logs';

/** The limits are those that the task has when nothing in the file says otherwise. */
export function harnessVariables(limits: Pick<Limits, 'cpus' | 'memoryMiB'>): Variables {
  return new Map([
    ['MAIN_IMAGE_NAME', mainImageName],
    ['PREBUILT_IMAGE_NAME', mainImageName],
    ['CONTEXT_DIR', contextDir],
    ['TEST_DIR', '/tests'],
    ['CPUS', String(limits.cpus.value)],
    ['MEMORY', `${limits.memoryMiB.value}M`],
    ['NETWORK_MODE', 'bridge'],
    ['COMPOSE_PROJECT_NAME', 'passband'],
    ['MAIN_CONTAINER_NAME', 'main'],
    ['HOST_VERIFIER_LOGS_PATH', `${hostLogs}/verifier`],
    ['HOST_AGENT_LOGS_PATH', `${hostLogs}/agent`],
    ['HOST_ARTIFACTS_PATH', `${hostLogs}/artifacts`],
    ['ENV_VERIFIER_LOGS_PATH', '/logs/verifier'],
    ['ENV_AGENT_LOGS_PATH', '/logs/agent'],
    ['ENV_ARTIFACTS_PATH', '/logs/artifacts'],
    ['T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME', mainImageName],
    ['T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME', 'client'],
    ['T_BENCH_TASK_DOCKER_NAME_PREFIX', 'passband'],
    ['T_BENCH_TASK_BUILD_CONTEXT_DIR', contextDir],
    ['T_BENCH_TEST_DIR', '/tests'],
    ['T_BENCH_TASK_LOGS_PATH', `${hostLogs}/logs`],
    ['T_BENCH_CONTAINER_LOGS_PATH', '/logs'],
    ['T_BENCH_TASK_AGENT_LOGS_PATH', `${hostLogs}/agent`],
    ['T_BENCH_CONTAINER_AGENT_LOGS_PATH', '/logs/agent'],
  ]);
}
