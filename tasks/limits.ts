// Limits of a task with who set each: the sweep's override, else the task's own word, else our default.
import { InputError } from '../domain/errors.ts';
import { defaultLimits, type Limit, type Limits } from '../domain/task.ts';
import type { TaskToml } from './schema.ts';

/** What a sweep sets for every task, whatever the tasks say. */
export type LimitOverrides = Readonly<Partial<Record<keyof Limits, number>>>;

/** @throws InputError where an override is no limit: 0 never means «as the task says». */
export function checkOverrides(overrides: LimitOverrides): void {
  for (const [name, value] of Object.entries(overrides)) {
    if (!Number.isFinite(value) || value <= 0) {
      throw new InputError(`limits.${name}: must be a finite number greater than 0, is ${value}`);
    }
  }
}

export function setLimit(
  name: keyof Limits,
  overrides: LimitOverrides,
  ...declared: readonly (number | undefined)[]
): Limit {
  const override = overrides[name];
  if (override !== undefined) return { value: override, setBy: 'sweep' };
  const own = declared.find((value) => value !== undefined);
  return own === undefined ? { value: defaultLimits[name], setBy: 'default' } : { value: own, setBy: 'task' };
}

export function taskLimits(toml: TaskToml, overrides: LimitOverrides): Limits {
  const { environment } = toml;
  return {
    agentSec: setLimit('agentSec', overrides, toml.agent.timeout_sec),
    verifierSec: setLimit('verifierSec', overrides, toml.verifier.timeout_sec),
    setupSec: setLimit('setupSec', overrides),
    cpus: setLimit('cpus', overrides, environment.cpus),
    memoryMiB: setLimit('memoryMiB', overrides, environment.memory_mb, environment.memory),
    diskMiB: setLimit('diskMiB', overrides, environment.storage_mb, environment.storage),
    pids: setLimit('pids', overrides),
  };
}
