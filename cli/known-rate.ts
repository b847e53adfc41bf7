// Known-rate models of a request: served by this process, where no other address is given for them.
import { InputError } from '../domain/errors.ts';
import { rateOf } from '../instruments/known-rate/intent.ts';
import { startKnownRateServer, type KnownRateServer } from '../instruments/known-rate/server.ts';
import { readKnownTasks } from '../instruments/known-tasks.ts';
import type { ModelRequest } from './sweep-request.ts';

/**
 * The models of a request that this process has to serve, by their names.
 * @throws InputError where any other model has no endpoint, or where the workers are somebody else's.
 */
export function ownKnownRates(
  models: readonly ModelRequest[],
  tasksDir: string,
  temporal: string | null,
): readonly string[] {
  const own = models.filter((model) => model.endpoint === null).map((model) => model.name);
  const unknown = own.find((name) => rateOf(name) === null);
  if (unknown?.startsWith('known-rate-') === true) {
    throw new InputError(`model ${unknown}: a known-rate model is named known-rate-P with P from 0 to 1`);
  }
  if (unknown !== undefined) {
    throw new InputError(
      `model ${unknown} has no endpoint: say --model ${unknown}=http://HOST:PORT/v1, or endpoint: in the sweep file`,
    );
  }
  const [name] = own;
  if (name !== undefined && temporal !== null) {
    throw new InputError(
      `--temporal: the workers there do not reach ${name} in this process, and it would end with it: serve it where they do (passband known-rate --tasks ${tasksDir} --model ${name} --host ADDRESS) and say --model ${name}=http://ADDRESS:PORT/v1`,
    );
  }
  return own;
}

/** Starts a server for those models; null where there are none. */
export async function serveKnownRates(
  own: readonly string[],
  tasksDir: string,
  seed: number,
): Promise<KnownRateServer | null> {
  if (own.length === 0) return null;
  return await startKnownRateServer({ tasks: await readKnownTasks(tasksDir), models: own, seed });
}
