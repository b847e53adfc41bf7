// Asks every model's server once, before anything is graded: an address that nobody answers at is said at once.
import { InputError } from '../domain/errors.ts';
import type { PlannedScaffold } from '../domain/sweep.ts';
import { createModelClient } from '../model/client.ts';
import { Secret } from '../model/secret.ts';
import { scaffoldNamed } from '../scaffolds/index.ts';
import type { ModelRequest } from './sweep-request.ts';

/**
 * Probes the models that the scaffolds need.
 * @throws ClassifiedError ModelUnavailable, ModelNotFound, Forbidden; InputError where a key's variable is not set.
 */
export async function checkModels(
  models: readonly ModelRequest[],
  knownRateUrl: string | null,
  scaffolds: readonly PlannedScaffold[],
  env: NodeJS.ProcessEnv,
): Promise<void> {
  if (!scaffolds.some((scaffold) => scaffoldNamed(scaffold.name).needsModel)) return;
  await Promise.all(
    models.map(async (model) => {
      const key = model.key_env === null ? null : env[model.key_env];
      if (key === undefined) {
        throw new InputError(
          `model ${model.name}: the environment variable ${model.key_env ?? ''} is not set: it should hold the API key`,
        );
      }
      const client = createModelClient({
        url: model.endpoint ?? knownRateUrl ?? '',
        servedName: model.served_name ?? model.name,
        apiKey: key === null ? null : new Secret(key),
        sampling: model.sampling,
      });
      try {
        await client.probe();
        if (model.tokens_in !== false) await client.tokenize({ messages: [{ role: 'user', content: 'a' }] });
      } finally {
        await client.close();
      }
    }),
  );
}
