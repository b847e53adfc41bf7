// Clients of the models' endpoints, one for each endpoint and sampling: their connections are shared by all trials.
import { ClassifiedError } from '../domain/errors.ts';
import type { PlannedModel, SweepSettings } from '../domain/sweep.ts';
import { createModelClient, type ModelClient } from '../model/client.ts';
import { Secret } from '../model/secret.ts';

export class ModelClients {
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #clients = new Map<string, ModelClient>();

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.#env = env;
  }

  /**
   * The client for a model under the settings as they are now: a new URL is a new client.
   * @throws ClassifiedError ConfigInvalid where the settings have no endpoint, or its key is not in the environment
   */
  for(model: PlannedModel, settings: SweepSettings): ModelClient {
    const endpoint = settings.endpoints[model.name];
    if (endpoint === undefined) {
      throw new ClassifiedError('ConfigInvalid', `no endpoint for model ${model.name}: add it to the sweep`);
    }
    const servedName = endpoint.servedName ?? model.name;
    const key = JSON.stringify([endpoint, servedName, model.sampling]);
    const known = this.#clients.get(key);
    if (known !== undefined) return known;
    const client = createModelClient({
      url: endpoint.url,
      servedName,
      apiKey: this.#keyOf(endpoint.apiKeyEnv, model.name),
      sampling: model.sampling,
    });
    this.#clients.set(key, client);
    return client;
  }

  #keyOf(name: string | null, model: string): Secret | null {
    if (name === null) return null;
    const value = this.#env[name];
    if (value === undefined || value === '') {
      throw new ClassifiedError('ConfigInvalid', `model ${model}: the worker's environment has no ${name}`);
    }
    return new Secret(value);
  }
}
