// Known-rate models of a request: served by this process, where no other address is given for them.
import { InputError } from '../domain/errors.ts';
import { rateOf } from '../instruments/known-rate/intent.ts';
import { startKnownRateServer, type KnownRateServer } from '../instruments/known-rate/server.ts';
import { readKnownTasks } from '../instruments/known-tasks.ts';
import type { ModelRequest } from './sweep-request.ts';

/**
 * Starts a server for the known-rate models without an endpoint; null where there are none.
 * @throws InputError where any other model has no endpoint, or where the workers are somebody else's.
 */
export async function serveKnownRates(
  models: readonly ModelRequest[],
  tasksDir: string,
  { seed, temporal }: { readonly seed: number; readonly temporal: string | null },
): Promise<KnownRateServer | null> {
  const unserved = models.filter((model) => model.endpoint === null);
  const unknown = unserved.find((model) => rateOf(model.name) === null);
  if (unknown !== undefined) {
    throw new InputError(
      `model ${unknown.name} has no endpoint: say --model ${unknown.name}=http://HOST:PORT/v1, or endpoint: in the sweep file`,
    );
  }
  if (unserved.length === 0) return null;
  if (temporal !== null) {
    const name = unserved[0]?.name ?? 'known-rate-0.5';
    throw new InputError(
      `--temporal: the workers there do not reach ${name} in this process, and it would end with it: serve it where they do (passband known-rate --tasks ${tasksDir} --model ${name} --host ADDRESS) and say --model ${name}=http://ADDRESS:PORT/v1`,
    );
  }
  return await startKnownRateServer({
    tasks: await readKnownTasks(tasksDir),
    models: unserved.map((model) => model.name),
    seed,
  });
}
