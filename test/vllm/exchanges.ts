// What the recorder asks of a real vLLM: the client's own requests, and those that a server must refuse.
import type { ToolDefinition } from '../../domain/tools.ts';
import { chatBody, type ChatRequest } from '../../model/request.ts';

export interface Exchange {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body: unknown;
}

/** Ids of the tiny tokenizer's marks. */
const endOfTurn = 3;
const endOfThinking = 5;
const question = [{ role: 'user', content: 'How many files are in /etc? Réponds 日本.' }] as const;
const seeded = { temperature: 1, seed: 7, maxTokens: 48 };

const bash: ToolDefinition = {
  name: 'bash',
  description: 'Runs a command.',
  parameters: {
    type: 'object',
    properties: { command: { type: 'string', maxLength: 12 } },
    required: ['command'],
  },
};
/** What makes a model of noise write two calls in the form that the parser reads. */
const twoCalls = Array.from(
  { length: 2 },
  (_, at) =>
    `<tool_call>\\n\\{"name": "bash", "arguments": \\{"command": "ls ${at} [a-z]{3,6}"\\}\\}\\n</tool_call>`,
).join('\\n');
const brokenCall =
  '<tool_call>\\n\\{"name": "bash", "arguments": \\{"command": "ls [a-z]{3,6}\\n</tool_call>';

const chat = (
  request: Partial<ChatRequest>,
  more: Readonly<Record<string, unknown>> = {},
  model = 'tiny',
): Exchange => ({
  method: 'POST',
  path: '/v1/chat/completions',
  body: {
    ...(JSON.parse(chatBody(model, { messages: question, sampling: seeded, ...request })) as object),
    ...more,
  },
});

const completion = (body: Readonly<Record<string, unknown>>): Exchange => ({
  method: 'POST',
  path: '/v1/completions',
  body: { model: 'tiny', return_token_ids: true, ...body },
});

const tokenizeThought = (thought: Readonly<Record<string, string>>): Exchange => ({
  method: 'POST',
  path: '/tokenize',
  body: {
    model: 'tiny',
    messages: [...question, { role: 'assistant', content: 'Some.', ...thought }, question[0]],
    chat_template_kwargs: { keep_thinking: true },
  },
});

/** Of no text: any ids will do for noise. */
const promptIds = [2, 88, 76, 90, 3, 201, 2, 70, 86, 86, 76];
const streamed = { stream: true, stream_options: { include_usage: true } };
const everyToken = { temperature: 1, seed: 7, logprobs: 1, max_tokens: 16 };

export const exchanges: Readonly<Record<string, Exchange>> = {
  version: { method: 'GET', path: '/version', body: null },
  models: { method: 'GET', path: '/v1/models', body: null },

  'chat-length': chat({}),
  'chat-stop': chat({}, { logit_bias: { [endOfTurn]: 4 } }),
  'chat-adapted': chat({}, {}, 'tiny-adapted'),
  'chat-reasoning': chat(
    { sampling: { ...seeded, maxTokens: 96, chatTemplateKwargs: { enable_thinking: true } } },
    { logit_bias: { [endOfThinking]: 4 } },
  ),
  'chat-reasoning-cut': chat({ sampling: { ...seeded, chatTemplateKwargs: { enable_thinking: true } } }),
  'chat-tools-none-called': chat({ offer: { tools: [bash], choice: 'auto' } }),
  'chat-tools-auto': chat(
    { sampling: { ...seeded, maxTokens: 160 }, offer: { tools: [bash], choice: 'auto' } },
    { structured_outputs: { regex: twoCalls } },
  ),
  'chat-tools-broken': chat(
    { sampling: { ...seeded, maxTokens: 160 }, offer: { tools: [bash], choice: 'auto' } },
    { structured_outputs: { regex: brokenCall } },
  ),
  'chat-tools-cut': chat(
    { sampling: { ...seeded, maxTokens: 24 }, offer: { tools: [bash], choice: 'auto' } },
    { structured_outputs: { regex: twoCalls } },
  ),
  'chat-tools-required': chat({
    sampling: { ...seeded, maxTokens: 400 },
    offer: { tools: [bash], choice: 'required' },
  }),

  'completion-ids': completion({ prompt: promptIds, ...everyToken, ...streamed }),
  'completion-ids-whole': completion({ prompt: promptIds, ...everyToken }),
  'prompt-logprobs': completion({ prompt: promptIds, max_tokens: 1, prompt_logprobs: 0, temperature: 0 }),
  'prompt-logprobs-top': completion({ prompt: promptIds, max_tokens: 1, prompt_logprobs: 2, temperature: 0 }),
  'tokenize-chat': {
    method: 'POST',
    path: '/tokenize',
    body: { model: 'tiny', messages: question, add_generation_prompt: true },
  },
  // What the template sees of earlier thoughts, by the names that clients give them.
  'tokenize-reasoning': tokenizeThought({ reasoning: 'Hm.' }),
  'tokenize-reasoning-content': tokenizeThought({ reasoning_content: 'Hm.' }),
  'tokenize-no-reasoning': tokenizeThought({}),
  'tokenize-text': { method: 'POST', path: '/tokenize', body: { model: 'tiny', prompt: 'ls -l /etc 日本' } },
  detokenize: { method: 'POST', path: '/detokenize', body: { model: 'tiny', tokens: promptIds } },

  'overflow-prompt': chat({
    messages: [{ role: 'user', content: 'qz'.repeat(20_000) }],
    sampling: { temperature: 1 },
  }),
  // No overflow to this server: the reply gets the room that is left.
  'room-for-less': chat(
    { messages: [{ role: 'user', content: 'qz'.repeat(7_000) }], sampling: { maxTokens: 8_000 } },
    { ignore_eos: true },
  ),
  'overflow-reply-alone': chat({ sampling: { maxTokens: 20_000 } }),
  'overflow-completion': completion({ prompt: Array.from({ length: 17_000 }, () => 88), max_tokens: 8 }),
  'room-for-less-completion': completion({
    prompt: Array.from({ length: 16_380 }, () => 88),
    max_tokens: 8,
    return_token_ids: false,
  }),

  'bad-temperature': chat({ sampling: { temperature: -1 } }),
  'bad-top-p': chat({ sampling: { topP: 2 } }),
  'bad-max-tokens': chat({ sampling: { maxTokens: 0 } }),
  'bad-template-kwargs': chat({}, { chat_template_kwargs: 'none' }),
  'bad-message': chat({}, { messages: [{ role: 'user', content: 7 }] }),
  'bad-role-order': chat({}, { messages: [] }),
  'bad-token-id': completion({ prompt: [2, 999_999], max_tokens: 1 }),
  'bad-logprobs': completion({ prompt: promptIds, max_tokens: 1, prompt_logprobs: 99 }),
  'unknown-model': chat({}, {}, 'other'),
  'unknown-path': { method: 'POST', path: '/v1/chat/completion', body: {} },
};

/** One that is still running when its server is told to end. */
export const longest = chat({ sampling: { ...seeded, maxTokens: 16_000 } }, { ignore_eos: true });
