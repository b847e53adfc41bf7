// What a compose file makes of a task: its image, its limits, its environment, and the services beside its main one.
import type { ImageOrigin, TaskServices } from '../../domain/services.ts';
import type { Limits } from '../../domain/task.ts';
import type { Findings } from '../findings.ts';
import type { Layout } from '../layout.ts';
import type { LimitOverrides } from '../limits.ts';
import { readServices, type ComposeServices } from './read-services.ts';

export interface Composed {
  readonly image: ImageOrigin | null;
  readonly limits: Limits;
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string | null;
  /** Undefined where the file describes one container and no more: the task is as if it had none. */
  readonly services: TaskServices | undefined;
}

export interface Composing {
  readonly path: string;
  readonly layout: Layout;
  readonly findings: Findings;
  readonly overrides: LimitOverrides;
}

/** What task.toml and the folder say stands; the file fills in the rest. Null after an error finding. */
export async function composed(
  { path, layout, findings, overrides }: Composing,
  task: Omit<Composed, 'services'>,
): Promise<Composed | null> {
  const read = await readServices({ path, layout, findings, limits: task.limits, image: task.image });
  if (read === null) return null;
  const { ofTask, ...services } = read;
  if (ofTask.image === null) {
    findings.error(
      { file: path, key: 'services.main' },
      'has no image: there is no environment/Dockerfile to build',
    );
    return null;
  }
  return {
    image: ofTask.image,
    limits: limitsWith(task.limits, ofTask, { path, findings, overrides }),
    env: { ...ofTask.env, ...task.env },
    workdir: task.workdir ?? ofTask.workdir,
    services: isOneContainer(services) ? undefined : services,
  };
}

function limitsWith(
  limits: Limits,
  ofTask: ComposeServices['ofTask'],
  { path, findings, overrides }: Pick<Composing, 'path' | 'findings' | 'overrides'>,
): Limits {
  const limited = { ...limits };
  for (const key of ['cpus', 'memoryMiB', 'pids'] as const) {
    const written = ofTask[key];
    // What the file takes from the harness is the task's own limit already.
    if (written === null || written === limits[key].value || overrides[key] !== undefined) continue;
    if (limits[key].setBy === 'default' && written > 0) limited[key] = { value: written, setBy: 'task' };
    else if (limits[key].setBy === 'task') {
      findings.warn(
        { file: path, key: 'services.main' },
        `its ${key} has no effect: task.toml says ${limits[key].value}`,
      );
    }
  }
  return limited;
}

/** Whether `main` alone is described, and nothing of it that a task of one container does not have. */
function isOneContainer({ main, sidecars, hosts }: TaskServices): boolean {
  const { entrypoint, command, user, healthcheck, mounts, shmMiB } = main;
  const said = [entrypoint, command, user, shmMiB].some((value) => value !== null);
  const checked = healthcheck !== null && healthcheck !== 'none';
  const away = hosts.some(({ address }) => address !== '127.0.0.1');
  return sidecars.length === 0 && mounts.length === 0 && !said && !checked && !away;
}
