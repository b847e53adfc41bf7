// The texts by which servers say that a prompt does not fit their context: one class, whatever the words.

interface OverflowText {
  readonly server: string;
  readonly pattern: RegExp;
}

/** Checked against the message in lower case. Rate limits speak of tokens too: they are told apart by status first. */
const overflowTexts: readonly OverflowText[] = [
  { server: 'OpenAI, vLLM, DeepSeek, OpenRouter', pattern: /maximum context length/ },
  { server: 'OpenAI, by code', pattern: /context[_ ]length[_ ]exceeded|context length is exceeded/ },
  { server: 'OpenAI', pattern: /exceeds? (?:the|its) context window|context window (?:is )?(?:full|exceed)/ },
  { server: 'OpenAI', pattern: /string too long.*maximum length/ },
  { server: 'vLLM', pattern: /context length is only \d+/ },
  { server: 'vLLM', pattern: /(?:decoder )?prompt.*is longer than the maximum model length/ },
  { server: 'vLLM', pattern: /prompt.*exceeds? (?:the )?max(?:imum)?[_ ]model[_ ]len/ },
  { server: 'vLLM', pattern: /please reduce the length of the (?:input )?(?:messages|prompt)/ },
  // The room left for the reply goes negative before anybody looks at the prompt.
  {
    server: 'vLLM',
    pattern:
      /max(?:_completion|_new)?_tokens must be (?:at least|greater than|>=?).*(?:got|given:?) ?(?:-\d|0\b)/,
  },
  { server: 'vLLM behind a proxy', pattern: /max(?:_completion)?_tokens.*greater than or equal to \d+.*-\d/ },
  { server: 'vLLM', pattern: /max(?:_completion)?_tokens.*is too large.*\d+ > \d+ - \d+/ },
  { server: 'SGLang', pattern: /longer than the model'?s context length/ },
  {
    server: 'SGLang',
    pattern: /exceeds the maximum allowed (?:input )?length|exceeds the model'?s context length/,
  },
  { server: 'TGI', pattern: /inputs?`? tokens? \+ `?max_new_tokens`? must be <=/ },
  { server: 'TGI', pattern: /`?inputs`? must have less than \d+ tokens/ },
  { server: 'llama.cpp', pattern: /exceeds? the available context size|exceed_context_size_error/ },
  { server: 'LM Studio', pattern: /greater than the context length|context length of only \d+/ },
  { server: 'llama-cpp-python', pattern: /requested tokens \(\d+\) exceed context window of \d+/ },
  {
    server: 'TensorRT-LLM',
    pattern: /prompt length \(?\d+\)? .*(?:max_input_len|max_num_tokens|max_seq_len)/,
  },
  { server: 'Ollama', pattern: /input length exceeds (?:the )?context length/ },
  { server: 'Anthropic', pattern: /prompt is too long|prompt_too_long/ },
  { server: 'Anthropic', pattern: /input length and `?max_tokens`? exceed context limit/ },
  { server: 'Gemini', pattern: /input token count.*exceeds the maximum number of tokens/ },
  { server: 'Bedrock', pattern: /input is too long for requested model/ },
  { server: 'Mistral', pattern: /prompt contains \d+ tokens.*too large for model/ },
  { server: 'xAI', pattern: /maximum prompt length is \d+/ },
  { server: 'Moonshot', pattern: /exceeded model token limit/ },
  { server: 'MiniMax', pattern: /context window exceeds limit/ },
  { server: 'Cerebras', pattern: /current length is \d+ while limit is \d+/ },
];

/** Whether a server's message (or its error code) says that the prompt does not fit. */
export function saysOverflow(message: string): boolean {
  const text = message.toLowerCase().replaceAll('\n', ' ');
  return overflowTexts.some(({ pattern }) => pattern.test(text));
}

/** Where a text tells the whole length, by its first number. */
const lengthTexts: readonly RegExp[] = [
  /context length(?: is)?(?: of)?(?: only)? \(?(\d+)/i,
  /context size \((\d+) tokens?\)/i, // llama.cpp
  /n_ctx:? (\d+)/i, // LM Studio
  /context window of (\d+)/i, // llama-cpp-python
];

/**
 * The context's whole length where an overflow message tells it. A requested reply that alone is as long can fit
 * beside no prompt at all, which is a fault of the settings and not an end of an episode.
 */
export function contextLengthIn(message: string): number | null {
  for (const pattern of lengthTexts) {
    const found = pattern.exec(message)?.[1];
    if (found !== undefined) return Number(found);
  }
  return null;
}
