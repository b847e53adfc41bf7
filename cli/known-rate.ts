// Known-rate models of a request: served by this process, where no other address is given for them.
import { InputError } from '../domain/errors.ts';
import { rateOf } from '../instruments/known-rate/intent.ts';
import { startKnownRateServer, type KnownRateServer } from '../instruments/known-rate/server.ts';
import { readKnownTasks } from '../instruments/known-tasks.ts';
import type { ModelRequest } from './sweep-request.ts';

/**
 * Starts a server for the known-rate models without an endpoint; null where there are none.
 * @throws InputError where any other model has no endpoint.
 */
export async function serveKnownRates(
  models: readonly ModelRequest[],
  tasksDir: string,
  { seed, detach }: { readonly seed: number; readonly detach: boolean },
): Promise<KnownRateServer | null> {
  const unserved = models.filter((model) => model.endpoint === null);
  const unknown = unserved.find((model) => rateOf(model.name) === null);
  if (unknown !== undefined) {
    throw new InputError(
      `model ${unknown.name} has no endpoint: say --model ${unknown.name}=http://HOST:PORT/v1, or endpoint: in the sweep file`,
    );
  }
  if (unserved.length === 0) return null;
  if (detach) {
    throw new InputError(
      `--detach: ${unserved[0]?.name ?? 'a known-rate model'} would lose its server when this command ends; give it a URL, or follow the sweep`,
    );
  }
  return await startKnownRateServer({
    tasks: await readKnownTasks(tasksDir),
    models: unserved.map((model) => model.name),
    seed,
  });
}
