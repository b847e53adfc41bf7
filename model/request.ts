// The body of one request: chat messages, sampling, and all that vLLM can be asked to tell of the tokens.
import type { ChatMessage } from '../domain/ports.ts';
import type { Sampling } from '../domain/sweep.ts';

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

function wireSampling(sampling: Sampling): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(samplingNames).flatMap(([name, wire]) => {
      const value = sampling[name as keyof Sampling];
      return value === undefined ? [] : [[wire, value]];
    }),
  );
}

const wireMessage = ({ role, content, reasoning }: ChatMessage): Record<string, string> =>
  reasoning === undefined ? { role, content } : { role, content, reasoning_content: reasoning };

/** Sampling for one attempt: attempt 1 has the seed that the user named, attempt n has seed + n - 1. */
export const samplingOf = (sampling: Sampling, attempt: number): Sampling =>
  sampling.seed === undefined ? sampling : { ...sampling, seed: sampling.seed + attempt - 1 };

/** The body of `POST chat/completions`, as JSON text. */
export function chatBody(servedName: string, messages: readonly ChatMessage[], sampling: Sampling): string {
  return JSON.stringify({
    model: servedName,
    messages: messages.map(wireMessage),
    ...wireSampling(sampling),
    stream: true,
    stream_options: { include_usage: true },
    logprobs: true,
    return_token_ids: true,
  });
}
