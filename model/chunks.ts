// The part of a streamed chat completion that is read: unknown fields pass, wrong types do not.
import { z } from 'zod';

const count = z.int().min(0);

const UsageSchema = z.object({
  prompt_tokens: count,
  completion_tokens: count.nullish(),
  prompt_tokens_details: z.object({ cached_tokens: count.nullish() }).nullish(),
});
export type WireUsage = z.infer<typeof UsageSchema>;

const FunctionSchema = z.object({
  name: z.string().nullish(),
  /** A piece of the text; some servers send the whole as an object. */
  arguments: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
});

const ToolCallSchema = z.object({
  index: count.nullish(),
  id: z.string().nullish(),
  function: FunctionSchema.nullish(),
});
export type WireToolCall = z.infer<typeof ToolCallSchema>;

const DeltaSchema = z.object({
  content: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  tool_calls: z.array(ToolCallSchema).nullish(),
  /** What was before `tool_calls`: one call, without an id. */
  function_call: FunctionSchema.nullish(),
});

const ChoiceSchema = z.object({
  index: count.default(0),
  delta: DeltaSchema.nullish(),
  /** Of a plain completion. */
  text: z.string().nullish(),
  /** In the first chunk of a plain completion. */
  prompt_token_ids: z.array(count).nullish(),
  finish_reason: z.string().nullish(),
  /** vLLM's `return_token_ids`: the ids behind this chunk, more than one where bytes were incomplete. */
  token_ids: z.array(count).nullish(),
  logprobs: z
    .object({
      content: z.array(z.object({ logprob: z.number() })).nullish(),
      /** Of a plain completion. */
      token_logprobs: z.array(z.number()).nullish(),
    })
    .nullish(),
});
export type WireChoice = z.infer<typeof ChoiceSchema>;

export const ChunkSchema = z.object({
  choices: z.array(ChoiceSchema),
  /** In the first chunk of vLLM's stream. */
  prompt_token_ids: z.array(count).nullish(),
  usage: UsageSchema.nullish(),
});

export interface WireError {
  readonly message: string;
  readonly type: string | null;
  readonly param: string | null;
  readonly code: string | number | null;
}

const word = z.string().nullable().catch(null);
const DetailSchema = z.object({
  message: z.string(),
  type: word,
  param: word,
  code: z.union([z.string(), z.number()]).nullable().catch(null),
});
const bare = (message: string): WireError => ({ message, type: null, param: null, code: null });
const FieldFaultSchema = z.object({ msg: z.string(), loc: z.array(z.unknown()).catch([]) });

/** The shapes in which servers say what went wrong: OpenAI's, a bare string, FastAPI's two, and old vLLM's. */
const ErrorBodySchema = z.union([
  z.object({ error: DetailSchema }).transform((body): WireError => body.error),
  z.object({ error: z.string() }).transform((body) => bare(body.error)),
  z.object({ detail: z.string() }).transform((body) => bare(body.detail)),
  z
    .object({ detail: z.array(FieldFaultSchema).min(1) })
    .transform(({ detail }) => bare(detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; '))),
  DetailSchema,
]);

/** The error that a JSON value says, null where it is none. */
export function wireErrorOf(value: unknown): WireError | null {
  const parsed = ErrorBodySchema.safeParse(value);
  return parsed.success ? parsed.data : null;
}

const ModelCardSchema = z.object({
  id: z.string(),
  max_model_len: z.int().positive().nullish(),
  /** Of vLLM: the name or folder of the weights. */
  root: z.string().nullish(),
  /** Of vLLM: the id of the base that an adapter stands on. */
  parent: z.string().nullish(),
});
export type ModelCard = z.infer<typeof ModelCardSchema>;

export const ModelListSchema = z.object({ data: z.array(ModelCardSchema) });

/** vLLM's /version. */
export const VersionSchema = z.object({ version: z.string().min(1) });
