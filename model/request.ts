// The body of one request: chat messages, sampling, and all that vLLM can be asked to tell of the tokens.
import type { ChatMessage } from '../domain/ports.ts';
import type { Sampling } from '../domain/sweep.ts';
import { wireTool, type ToolCall, type ToolOffer } from '../domain/tools.ts';

/** Sampling settings by their name on the wire: a refusal that names one is a fault of the settings. */
export const samplingNames = {
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  maxTokens: 'max_tokens',
  seed: 'seed',
  reasoningEffort: 'reasoning_effort',
  chatTemplateKwargs: 'chat_template_kwargs',
} as const satisfies Record<keyof Sampling, string>;

/** Of a prompt that is rendered already. */
const templateSettings: readonly string[] = [
  'reasoningEffort',
  'chatTemplateKwargs',
] satisfies (keyof Sampling)[];

/** What a request in ids says of sampling: the template's settings went into the ids. */
export const samplingBeyondTemplate = (sampling: Sampling): Record<string, unknown> =>
  wireSampling(
    Object.fromEntries(Object.entries(sampling).filter(([name]) => !templateSettings.includes(name))),
  );

function wireSampling(sampling: Sampling): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(samplingNames).flatMap(([name, wire]) => {
      const value = sampling[name as keyof Sampling];
      return value === undefined ? [] : [[wire, value]];
    }),
  );
}

const wireCall = ({ id, name, arguments: written }: ToolCall): object => ({
  id,
  type: 'function',
  function: { name, arguments: written },
});

/** What an assistant's message without words and calls says: many servers refuse one that says nothing. */
const saidNothing = '(empty)';

/** Half a surrogate pair is no text: servers refuse it, and would refuse the same prompt for ever. */
function wireContent(role: ChatMessage['role'], content: string, calls: boolean): string | null {
  if (content !== '' || role !== 'assistant') return content.toWellFormed();
  // Templates tell a message that only calls by its lack of content.
  return calls ? null : saidNothing;
}

/** vLLM reads the first name and drops the second without a word; others know the second alone. */
const wireReasoning = (reasoning: string): object => ({ reasoning, reasoning_content: reasoning });

export function wireMessage({ role, content, reasoning, toolCalls, toolCallId }: ChatMessage): object {
  const calls = toolCalls ?? [];
  return {
    role,
    content: wireContent(role, content, calls.length > 0),
    ...(reasoning === undefined ? {} : wireReasoning(reasoning.toWellFormed())),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(wireCall) }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
  };
}

/** Sampling for one attempt: attempt 1 has the seed that the user named, attempt n has seed + n - 1. */
export const samplingOf = (sampling: Sampling, attempt: number): Sampling =>
  sampling.seed === undefined ? sampling : { ...sampling, seed: sampling.seed + attempt - 1 };

export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  readonly sampling: Sampling;
  readonly offer?: ToolOffer | undefined;
}

/** The body of `POST chat/completions`, as JSON text. */
export function chatBody(servedName: string, { messages, sampling, offer }: ChatRequest): string {
  return JSON.stringify({
    model: servedName,
    messages: messages.map(wireMessage),
    ...(offer === undefined ? {} : { tools: offer.tools.map(wireTool), tool_choice: offer.choice }),
    ...wireSampling(sampling),
    stream: true,
    stream_options: { include_usage: true },
    logprobs: true,
    return_token_ids: true,
  });
}
