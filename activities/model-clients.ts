// Clients of the models' endpoints, one for each endpoint and sampling: their connections are shared by all trials.
import { ClassifiedError } from '../domain/errors.ts';
import type { PlannedModel, SweepSettings } from '../domain/sweep.ts';
import { Admission } from '../model/admission.ts';
import { createReplicatedClient, type ReplicatedClient } from '../model/replicas.ts';
import { Secret } from '../model/secret.ts';
import type { Log } from './log.ts';

type EndpointSettings = SweepSettings['endpoints'][string];

export class ModelClients {
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #log: Log;
  readonly #clients = new Map<string, ReplicatedClient>();
  /** What a server takes is one matter for all who ask it for a model, whatever their sampling. */
  readonly #admissions = new Map<string, Admission>();

  constructor(env: Readonly<Record<string, string | undefined>>, log: Log) {
    this.#env = env;
    this.#log = log;
  }

  /**
   * The client for a model under the settings as they are now: a new URL is a new client.
   * @throws ClassifiedError ConfigInvalid where the settings have no endpoint, or its key is not in the environment
   */
  for(model: PlannedModel, settings: SweepSettings): ReplicatedClient {
    const endpoint = settings.endpoints[model.name];
    if (endpoint === undefined) {
      throw new ClassifiedError('ConfigInvalid', `no endpoint for model ${model.name}: add it to the sweep`);
    }
    const servedName = endpoint.servedName ?? model.name;
    const key = JSON.stringify([endpoint, servedName, model.sampling]);
    const known = this.#clients.get(key);
    if (known !== undefined) return known;
    const client = createReplicatedClient({
      urls: endpoint.urls,
      servedName,
      apiKey: this.#keyOf(endpoint.apiKeyEnv, model.name),
      sampling: model.sampling,
      admissionOf: (url) => this.#admissionOf(url, servedName, endpoint),
    });
    this.#clients.set(key, client);
    return client;
  }

  #admissionOf(url: string, servedName: string, { apiKeyEnv, maxRequests }: EndpointSettings): Admission {
    const key = JSON.stringify([url, servedName, apiKeyEnv, maxRequests]);
    const known = this.#admissions.get(key);
    if (known !== undefined) return known;
    const admission = new Admission({
      maximum: maxRequests,
      onCircuit: ({ openMs, reason }) => {
        if (openMs === null) this.#log.info({ model: servedName, reason }, 'a model endpoint answers again');
        else this.#log.warn({ model: servedName, reason, openMs }, 'a model endpoint is left for a while');
      },
    });
    this.#admissions.set(key, admission);
    return admission;
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
