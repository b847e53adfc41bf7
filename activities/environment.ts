// Environment tables of a task with their templates filled in from the worker's own environment.
import { ClassifiedError } from '../domain/errors.ts';
import { resolveEnv } from '../tasks/env-templates.ts';
import type { World } from './world.ts';

/** @throws ClassifiedError ConfigInvalid naming the variable that is not set */
export function envOf(
  { env }: Pick<World, 'env'>,
  table: Readonly<Record<string, string>>,
): Record<string, string> {
  try {
    return resolveEnv(table, env);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new ClassifiedError('ConfigInvalid', `environment of the worker: ${message}`, { cause: error });
  }
}
