// What clients ask of the server, as far as it reads it: chat and plain completions in OpenAI's shape with vLLM's additions.
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { badRequest } from './api-error.ts';
import { encode, readChat, renderChat, vocabularySize, type Said } from './tokens.ts';
import { withoutThinking } from './thinking.ts';
import { textOf } from './tool-calls.ts';

const streamOptions = z.object({ include_usage: z.boolean().nullish() }).nullish();

const shared = {
  model: z.string(),
  stream: z.boolean().nullish(),
  stream_options: streamOptions,
  n: z.literal(1).nullish(),
  return_token_ids: z.boolean().nullish(),
};

const content = z.union([
  z.string(),
  z
    .array(z.object({ type: z.literal('text'), text: z.string() }))
    .transform((parts) => parts.map((part) => part.text).join('')),
]);

const isObject = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
};

/** A call that is handed back; vLLM's templates take nothing but an object. */
const calledBefore = z
  .object({
    id: z.string(),
    function: z.object({
      name: z.string(),
      arguments: z.string().refine(isObject, 'the arguments of a tool call are no JSON object'),
    }),
  })
  .transform((call) => call.function);

const message = z
  .object({
    role: z.enum(['system', 'user', 'assistant', 'tool']),
    content: content.nullish().transform((said) => said ?? ''),
    tool_calls: z.array(calledBefore).nullish(),
    tool_call_id: z.string().nullish(),
  })
  .refine(
    ({ role, tool_call_id }) => role !== 'tool' || typeof tool_call_id === 'string',
    'a message of the role tool names its tool_call_id',
  )
  .transform(({ role, content: said, tool_calls }): Said => ({
    role,
    content: textOf({ content: said, calls: tool_calls ?? [] }),
  }));

const ChatRequestSchema = z.object({
  ...shared,
  messages: z.array(message).min(1),
  tools: z
    .array(z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }))
    .nullish(),
  tool_choice: z.enum(['auto', 'required', 'none']).nullish(),
  logprobs: z.boolean().nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
});

/** `prompt` is one text (one user message) or the ids of a chat. */
const CompletionRequestSchema = z.object({
  ...shared,
  prompt: z.union([z.string(), z.array(z.int().min(0)).min(1)]),
  logprobs: z.int().min(0).nullish(),
  prompt_logprobs: z.int().min(0).nullish(),
  max_tokens: z.int().positive().nullish(),
});

/** Of a plain completion that names none. */
const usualMaxTokens = 16;

/** A request for a reply, in whichever form it came. */
export interface Asked {
  readonly form: 'chat' | 'text';
  readonly model: string;
  readonly messages: readonly Said[];
  /** Names of the tools that the reply may call. */
  readonly tools: readonly string[];
  readonly promptIds: readonly number[];
  readonly maxTokens: number | null;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly returnTokenIds: boolean;
  readonly logprobs: boolean;
  /** Of the prompt's own ids: then nothing is a trial's request. */
  readonly promptLogprobs: boolean;
}

async function readBody<T>(request: IncomingMessage, schema: z.ZodType<T>): Promise<T> {
  let body: unknown;
  try {
    body = JSON.parse(await text(request));
  } catch (error) {
    throw badRequest(`the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw badRequest(z.prettifyError(parsed.error).replaceAll('\n', ' '));
  return parsed.data;
}

/** Reads a request for a reply. Throws a bad-request ApiError that says what is wrong with it. */
export async function readAsked(request: IncomingMessage, form: Asked['form']): Promise<Asked> {
  if (form === 'chat') {
    const body = await readBody(request, ChatRequestSchema);
    return {
      form,
      model: body.model,
      messages: body.messages,
      tools: body.tool_choice === 'none' ? [] : (body.tools ?? []).map((tool) => tool.function.name),
      promptIds: renderChat(body.messages),
      maxTokens: body.max_completion_tokens ?? body.max_tokens ?? null,
      stream: body.stream ?? false,
      includeUsage: body.stream_options?.include_usage ?? false,
      returnTokenIds: body.return_token_ids ?? false,
      logprobs: body.logprobs ?? false,
      promptLogprobs: false,
    };
  }
  const body = await readBody(request, CompletionRequestSchema);
  const promptIds = typeof body.prompt === 'string' ? encode(body.prompt) : body.prompt;
  const unknown = promptIds.find((id) => id >= vocabularySize);
  if (unknown !== undefined) throw badRequest(`Token id ${unknown} is out of vocabulary`);
  return {
    form,
    model: body.model,
    messages: readChat(promptIds).map((said) =>
      said.role === 'assistant' ? { ...said, content: withoutThinking(said.content) } : said,
    ),
    tools: [],
    promptIds,
    maxTokens: body.max_tokens ?? usualMaxTokens,
    stream: body.stream ?? false,
    includeUsage: body.stream_options?.include_usage ?? false,
    returnTokenIds: body.return_token_ids ?? false,
    logprobs: (body.logprobs ?? null) !== null,
    promptLogprobs: (body.prompt_logprobs ?? null) !== null,
  };
}

const TokenizeRequestSchema = z.object({
  model: z.string(),
  messages: z.array(message).min(1),
  add_generation_prompt: z.boolean().default(true),
});

/** Reads a request for the ids of a chat. Throws as readAsked. */
export async function readToTokenize(
  request: IncomingMessage,
): Promise<{ readonly model: string; readonly ids: readonly number[] }> {
  const { model, messages, add_generation_prompt } = await readBody(request, TokenizeRequestSchema);
  return { model, ids: renderChat(messages, add_generation_prompt) };
}
