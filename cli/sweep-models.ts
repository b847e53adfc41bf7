// Asks every model's server once, before anything is graded: an address that nobody answers at is said at once.
import { InputError } from '../domain/errors.ts';
import type { PlannedScaffold } from '../domain/sweep.ts';
import { Admission } from '../model/admission.ts';
import { createModelClient } from '../model/client.ts';
import { createReplicatedClient } from '../model/replicas.ts';
import { Secret } from '../model/secret.ts';
import { ModelTrouble } from '../model/trouble.ts';
import type { WireOptions } from '../model/wire.ts';
import { scaffoldNamed } from '../scaffolds/index.ts';
import type { ModelRequest } from './sweep-request.ts';

/**
 * Probes every endpoint of the models that the scaffolds need; those without one are served by this process, later.
 * Answers a line for each that is away, where others of its model answer.
 * @throws ClassifiedError ModelUnavailable, ModelNotFound, Forbidden; InputError where a key's variable is not set.
 */
export async function checkModels(
  models: readonly ModelRequest[],
  scaffolds: readonly PlannedScaffold[],
  env: NodeJS.ProcessEnv,
): Promise<readonly string[]> {
  if (!scaffolds.some((scaffold) => scaffoldNamed(scaffold.name).needsModel)) return [];
  const away = await Promise.all(
    models.map(async (model) => {
      const key = model.key_env === null ? null : env[model.key_env];
      if (key === undefined) {
        throw new InputError(
          `model ${model.name}: the environment variable ${model.key_env ?? ''} is not set: it should hold the API key`,
        );
      }
      if (model.endpoint === null) return [];
      const server = {
        urls: model.endpoint,
        servedName: model.served_name ?? model.name,
        apiKey: key === null ? null : new Secret(key),
        sampling: model.sampling,
      };
      const client = createReplicatedClient({
        ...server,
        admissionOf: () => new Admission({ maximum: null, onCircuit: () => undefined }),
      });
      try {
        const { away } = await client.probe();
        if (model.tokens_in !== false) await checkTokenize(server);
        return away;
      } finally {
        await client.close();
      }
    }),
  );
  return away.flat();
}

/** Every endpoint that answers has to give the ids of a chat. */
async function checkTokenize({
  urls,
  ...options
}: { readonly urls: readonly string[] } & Omit<WireOptions, 'url'>): Promise<void> {
  for (const url of urls) {
    const client = createModelClient({ ...options, url });
    try {
      await client.tokenize({ messages: [{ role: 'user', content: 'a' }] });
    } catch (error) {
      // The probe has told of one that is away.
      if (!(error instanceof ModelTrouble)) throw error;
    } finally {
      await client.close();
    }
  }
}
