// What another model would have said: the logprob of each id of a given sequence, by `prompt_logprobs` of plain completions.
import { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import { ContextOverflow, describe } from './refusals.ts';
import { openWire, postWhole, type Wire, type WireOptions } from './wire.ts';

/** Why the endpoint says nothing of one sequence, though it may of another. */
export type Unscored = 'context-too-long' | 'out-of-vocabulary';

export type SequenceScore =
  | {
      readonly kind: 'scored';
      /** Natural logarithms, one for each id after the first. */
      readonly logprobs: readonly number[];
      /** What each id after the first says by the endpoint's own tokenizer; null where it does not tell. */
      readonly tokens: readonly (string | null)[];
    }
  | { readonly kind: Unscored; readonly message: string };

export interface Scorer {
  /** For people: without credentials. */
  readonly shown: string;
  /**
   * @throws ClassifiedError ConfigInvalid where the endpoint gives no logprobs of prompts, else as a model that is asked
   */
  score(ids: readonly number[], signal?: AbortSignal): Promise<SequenceScore>;
  close(): Promise<void>;
}

const LogprobSchema = z.object({ logprob: z.number(), decoded_token: z.string().nullish() });
const AnswerSchema = z.object({
  choices: z
    .array(
      z.object({
        prompt_logprobs: z.array(z.record(z.string(), LogprobSchema).nullable()).nullish(),
      }),
    )
    .min(1),
});

const namesVocabulary = /out of vocab|vocab(?:ulary)?[ _]size|token[ _]ids?\b.*out of range/i;
const namesPromptLogprobs = /prompt_?logprobs/i;

export function createScorer(options: Omit<WireOptions, 'sampling'>): Scorer {
  const wire = openWire({ ...options, sampling: {} });
  return {
    shown: wire.endpoint.shown,
    score: (ids, signal) => score(wire, ids, signal),
    close: () => wire.dispatcher.destroy(),
  };
}

async function score(wire: Wire, ids: readonly number[], signal?: AbortSignal): Promise<SequenceScore> {
  const { asked, endpoint } = wire;
  let answer: unknown;
  try {
    answer = await postWhole(wire, {
      url: endpoint.completions,
      body: {
        model: asked.servedName,
        prompt: ids,
        // A request has to sample something: one token, which is left aside.
        max_tokens: 1,
        temperature: 0,
        prompt_logprobs: 0,
        stream: false,
      },
      signal,
    });
  } catch (error) {
    if (error instanceof ContextOverflow) return { kind: 'context-too-long', message: error.message };
    const message = error instanceof ClassifiedError ? error.message : '';
    if (namesVocabulary.test(message)) return { kind: 'out-of-vocabulary', message };
    if (namesPromptLogprobs.test(message)) throw new ClassifiedError('ConfigInvalid', message);
    throw error;
  }
  return read(wire, ids, answer);
}

function read({ asked }: Wire, ids: readonly number[], answer: unknown): SequenceScore {
  const parsed = AnswerSchema.safeParse(answer);
  const told = parsed.success ? (parsed.data.choices[0]?.prompt_logprobs ?? null) : null;
  if (told === null) {
    const what = 'it takes prompt_logprobs and gives none: scoring needs an endpoint that does (vLLM)';
    throw new ClassifiedError('ConfigInvalid', describe(asked, what));
  }
  const entries = ids.slice(1).map((id, at) => told[at + 1]?.[String(id)]);
  const scored = entries.filter((entry) => entry !== undefined);
  if (told.length !== ids.length || scored.length !== entries.length) {
    const what = `it was sent ${ids.length} ids and tells the logprobs of others: it does not take ids as they are`;
    throw new ClassifiedError('ConfigInvalid', describe(asked, what));
  }
  return {
    kind: 'scored',
    logprobs: scored.map(({ logprob }) => logprob),
    tokens: scored.map(({ decoded_token: token }) => token ?? null),
  };
}
