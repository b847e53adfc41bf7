// What a server's template makes of a chat, in ids: vLLM's POST /tokenize.
import { z } from 'zod';
import { ClassifiedError } from '../domain/errors.ts';
import type { ChatMessage } from '../domain/ports.ts';
import { ContextOverflow, describe } from './refusals.ts';
import { wireMessage } from './request.ts';
import { postWhole, type Wire } from './wire.ts';

export interface TokenizeInput {
  readonly messages: readonly ChatMessage[];
  /** Absent: it is nobody's turn. */
  readonly sessionId?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface Tokenized {
  readonly ids: readonly number[];
  /** Tokens of the model's context. */
  readonly contextTokens: number;
}

const AnswerSchema = z.object({
  tokens: z.array(z.int().min(0)).min(1),
  max_model_len: z.int().positive(),
});

/**
 * The prompt of a chat with the opening of the reply, under the sampling's settings of the template.
 * @throws ClassifiedError ConfigInvalid where the server has no such route
 */
export async function tokenize(
  wire: Wire,
  { messages, sessionId, signal }: TokenizeInput,
): Promise<Tokenized> {
  const { asked, endpoint } = wire;
  const { chatTemplateKwargs, reasoningEffort } = asked.sampling;
  // A chat request's reasoning_effort goes to the template as well; this one has no field for it.
  const kwargs = {
    ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }),
    ...chatTemplateKwargs,
  };
  const body = {
    model: asked.servedName,
    messages: messages.map(wireMessage),
    add_generation_prompt: true,
    add_special_tokens: false,
    ...(Object.keys(kwargs).length === 0 ? {} : { chat_template_kwargs: kwargs }),
  };
  const answer = await postWhole(wire, {
    url: endpoint.tokenize,
    body,
    ...(sessionId !== undefined && { sessionId }),
    signal,
  }).catch((error: unknown) => {
    if (error instanceof ContextOverflow) throw new ClassifiedError('Unexpected', error.message);
    if (!(error instanceof ClassifiedError) || error.failureClass !== 'ConfigInvalid') throw error;
    const why = `tokens_in asks ${endpoint.tokenize.href}, which vLLM has`;
    throw new ClassifiedError('ConfigInvalid', `${error.message} (${why})`);
  });
  const parsed = AnswerSchema.safeParse(answer);
  if (parsed.success) return { ids: parsed.data.tokens, contextTokens: parsed.data.max_model_len };
  const what = `${endpoint.tokenize.href} gives no ids of a chat: tokens_in needs a server that does (vLLM)`;
  throw new ClassifiedError('ConfigInvalid', describe(asked, what));
}
