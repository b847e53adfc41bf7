// One model behind several servers: a session keeps to one of them, and goes to its next where that one cannot serve.
import { ClassifiedError } from '../domain/errors.ts';
import type { RawAnswer } from './answer.ts';
import { ReplicaLeft, type Admission } from './admission.ts';
import { createModelClient, type AskInput, type ModelClient } from './client.ts';
import { readEndpoint } from './endpoint.ts';
import type { ModelProbe } from './probe.ts';
import { preferenceOf } from './rendezvous.ts';
import type { TokenizeInput, Tokenized } from './tokenize.ts';
import { HttpRefusal, ModelTrouble } from './trouble.ts';
import type { WireOptions } from './wire.ts';

export interface ReplicatedOptions extends Omit<WireOptions, 'url'> {
  /** One or more. */
  readonly urls: readonly string[];
  /** The admission of a URL: shared by all clients that ask there. */
  readonly admissionOf: (url: string) => Admission;
}

export interface ReplicatedProbe extends ModelProbe {
  /** One line for each server that does not answer, while others do. */
  readonly away: readonly string[];
}

export interface ReplicatedAsk extends AskInput {
  /**
   * To find out whether the model is back: every server is asked at once, those that are left for now too, and the first
   * that answers ends the others' requests.
   */
  readonly probing?: boolean;
}

export interface ReplicatedClient extends Omit<ModelClient, 'ask' | 'tokenize' | 'probe'> {
  /**
   * As ModelClient.ask. Where every server is left for now it fails at once, as ModelUnavailable; a server that refuses
   * is one that is away, for as long as not all of them do.
   */
  ask(input: ReplicatedAsk): Promise<RawAnswer>;
  /** As ModelClient.tokenize, of the session's own server, or the next that answers: all have one template. */
  tokenize(input: TokenizeInput): Promise<Tokenized>;
  /**
   * Asks every server. Fails where one refuses or does not serve the model, or where none answers. Of a session: its own
   * server, or the next one that answers.
   */
  probe(signal?: AbortSignal, sessionId?: string): Promise<ReplicatedProbe>;
}

/** A server that is there and serves nobody here, or not this model, as a gateway in a rollout: others may. */
class ReplicaRefuses extends ModelTrouble {
  readonly refusal: ClassifiedError;

  constructor(refusal: ClassifiedError) {
    super('away', refusal.message);
    this.refusal = refusal;
  }
}

interface Replica {
  readonly shown: string;
  readonly client: ModelClient;
  readonly admission: Admission;
  /** There are others: what it refuses may be had from them. */
  readonly among: boolean;
}

/** @throws InputError where a URL is no http(s) URL */
export function createReplicatedClient({
  urls,
  admissionOf,
  ...options
}: ReplicatedOptions): ReplicatedClient {
  const replicas: readonly Replica[] = urls.map((url) => ({
    shown: readEndpoint(url).shown,
    client: createModelClient({ ...options, url }),
    admission: admissionOf(url),
    among: urls.length > 1,
  }));

  const preferenceFor = (sessionId: string): readonly Replica[] =>
    preferenceOf(sessionId, replicas, ({ shown }) => shown);

  /** Asks one after the other, until one answers. */
  const inTurn = async <T>(
    these: readonly Replica[],
    asking: (replica: Replica) => Promise<T | ModelTrouble>,
  ): Promise<T> => {
    const troubles: ModelTrouble[] = [];
    for (const replica of these) {
      const asked = await asking(replica);
      if (!(asked instanceof ModelTrouble)) return asked;
      troubles.push(asked);
    }
    throw together(options.servedName, troubles);
  };

  const ask = async ({ probing = false, ...input }: ReplicatedAsk): Promise<RawAnswer> =>
    probing
      ? await askAny(input)
      : await inTurn(preferenceFor(input.sessionId), (replica) => askOne(replica, input));

  const askAny = async (input: AskInput): Promise<RawAnswer> => {
    const answered = new AbortController();
    const signals = input.signal === undefined ? [answered.signal] : [input.signal, answered.signal];
    const asked = replicas.map(async (replica) => {
      const answer = await askOne(replica, { ...input, signal: AbortSignal.any(signals) }, true);
      if (answer instanceof ModelTrouble) throw answer;
      return answer;
    });
    try {
      return await Promise.any(asked);
    } catch (error) {
      input.signal?.throwIfAborted();
      const reasons: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
      const troubles = reasons.filter((reason) => reason instanceof ModelTrouble);
      if (troubles.length < reasons.length) throw reasons.find((reason) => !(reason instanceof ModelTrouble));
      throw together(options.servedName, troubles);
    } finally {
      answered.abort();
    }
  };

  /** What samples nothing and takes no place in a queue: servers that are left for now are asked last. */
  const aside = async <T>(sessionId: string, asking: (client: ModelClient) => Promise<T>): Promise<T> => {
    const leftLast = preferenceFor(sessionId).toSorted((a, b) => Number(isLeft(a)) - Number(isLeft(b)));
    return await inTurn(leftLast, async (replica) => {
      try {
        return await asking(replica.client);
      } catch (reason) {
        const error = failureAt(replica, reason);
        if (error instanceof ModelTrouble) return error;
        throw error;
      }
    });
  };

  const probe = async (signal?: AbortSignal, sessionId?: string): Promise<ReplicatedProbe> => {
    if (sessionId !== undefined) {
      return { ...(await aside(sessionId, (client) => client.probe(signal))), away: [] };
    }
    const probed = await Promise.allSettled(replicas.map(({ client }) => client.probe(signal)));
    signal?.throwIfAborted();
    const troubles: ModelTrouble[] = [];
    const told: (number | null)[] = [];
    for (const one of probed) {
      if (one.status === 'fulfilled') told.push(one.value.contextTokens);
      else if (one.reason instanceof ModelTrouble) troubles.push(one.reason);
      else throw one.reason;
    }
    if (told.length === 0) throw together(options.servedName, troubles);
    const lengths = told.filter((tokens) => tokens !== null);
    return {
      contextTokens: lengths.length === 0 ? null : Math.min(...lengths),
      away: troubles.map(({ message }) => message),
    };
  };

  return {
    ask,
    probe,
    tokenize: (input) => aside(input.sessionId ?? '', (client) => client.tokenize(input)),
    close: async () => {
      await Promise.all(replicas.map(({ client }) => client.close()));
    },
  };
}

const isLeft = ({ admission }: Replica): boolean => admission.left !== null;

/** What a failure means where others are left to ask: there a refusal is no more than that one is away. */
function failureAt({ among }: Replica, error: unknown): unknown {
  if (!among || !(error instanceof ClassifiedError)) return error;
  const { failureClass } = error;
  const refuses =
    failureClass === 'ModelNotFound' ||
    failureClass === 'Forbidden' ||
    // No such route; other settings that cannot work are refused by all.
    (failureClass === 'ConfigInvalid' && error instanceof HttpRefusal && error.status === 404);
  return refuses ? new ReplicaRefuses(error) : error;
}

/** The answer of one replica, or the trouble that lets the next one be asked. */
async function askOne(replica: Replica, input: AskInput, probing = false): Promise<RawAnswer | ModelTrouble> {
  const { client, admission } = replica;
  const { signal } = input;
  let begun = false;
  let admitted: Awaited<ReturnType<Admission['enter']>>;
  try {
    admitted = await admission.enter(signal, probing);
  } catch (error) {
    if (error instanceof ReplicaLeft) return error;
    throw error;
  }
  try {
    const answer = await client.ask({
      ...input,
      onFirstToken: () => {
        begun = true;
        admitted.begun();
        input.onFirstToken?.();
      },
    });
    admitted.answered(answer.times.firstTokenMs);
    return { ...answer, times: { ...answer.times, queuedMs: admitted.queuedMs } };
  } catch (reason) {
    const error = failureAt(replica, reason);
    if (signal?.aborted === true) admitted.dropped();
    else admitted.failed(error, input.sessionId);
    // A server that asks for less is the one whose cache is warm; and of a reply that has begun time is charged.
    const elsewhere = error instanceof ModelTrouble && error.kind !== 'overloaded' && !begun;
    if (elsewhere && signal?.aborted !== true) return error;
    throw reason;
  }
}

/** What all of them together come to. */
function together(servedName: string, troubles: readonly ModelTrouble[]): ClassifiedError {
  const [only, ...others] = troubles;
  if (only !== undefined && others.length === 0) return only;
  const refusals = troubles.filter((trouble) => trouble instanceof ReplicaRefuses);
  const delays = troubles.map(({ retryAfterMs }) => retryAfterMs);
  const said = troubles.map(({ message }) => message).join('; ');
  const message = `model ${servedName}: none of its ${troubles.length} endpoints serves: ${said}`;
  const [refused] = refusals;
  if (refused !== undefined && refusals.length === troubles.length)
    return new ClassifiedError(refused.refusal.failureClass, message, { cause: refused.refusal });
  return new ModelTrouble('away', message, {
    cause: only,
    ...(delays.every((delay) => delay !== null) ? { retryAfterMs: Math.min(...delays) } : {}),
  });
}
