// The pure pieces of the client: overflow texts, endpoints, secrets.
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readEndpoint } from '../../model/endpoint.ts';
import { contextLengthIn, saysOverflow } from '../../model/overflow.ts';
import { Secret } from '../../model/secret.ts';

describe('C64 the texts of an overflow', () => {
  it.each([
    [
      "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
    ],
    [
      "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. Please reduce the length of the input messages.",
    ],
    [
      "You passed 262145 input tokens and requested 0 output tokens. However, the model's context length is only 262144 tokens, resulting in a maximum input length of 262144 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=262145)",
    ],
    ['max_tokens must be at least 1, got -186.'],
    ['max_tokens must be at least 1, got -7584. (parameter=max_tokens, value=-7584)'],
    ['max_completion_tokens must be at least 1, got 0.'],
    ['body.max_tokens: Input should be greater than or equal to 0, input -223'],
    [
      "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 32768 tokens and your request has 25201 input tokens (8000 > 32768 - 25201).",
    ],
    ["Input length (11680) exceeds model's maximum context length (4096)."],
    [
      'The decoder prompt (length 5951) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.',
    ],
    ["The input (5000 tokens) is longer than the model's context length (4096 tokens)."],
    [
      "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 140000 tokens.",
    ],
    ['Input length 131393 exceeds the maximum allowed input length of 131040'],
    ['Input length (131393 tokens) exceeds the maximum allowed length (131067 tokens). Use a shorter input.'],
    [
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`',
    ],
    ['Input validation error: `inputs` must have less than 4095 tokens. Given: 5000'],
    [
      'the request exceeds the available context size. try increasing the context size or enable context shift',
    ],
    [
      'request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it exceed_context_size_error',
    ],
    [
      'Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens',
    ],
    [
      'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5005>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
    ],
    ['Requested tokens (2285) exceed context window of 2048'],
    ['the input length exceeds the context length'],
    ['Your input exceeds the context window of this model. Please adjust your input and try again.'],
    ['error context_length_exceeded'],
    ["Invalid 'messages[0].content': string too long. Expected a string with maximum length 1048576"],
    ['prompt is too long: 213462 tokens > 200000 maximum'],
    [
      'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
    ],
    ['The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).'],
    ['Input is too long for requested model.'],
    [
      'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    ],
    ["This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
    ['Invalid request: Your request exceeded model token limit: 131072'],
    ['invalid params, context window exceeds limit'],
    ['Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192'],
    ['prompt length (9000) should not exceed max_input_len (8192)'],
  ])('include: %s', (text) => {
    expect(saysOverflow(text)).toBe(true);
  });

  it.each([
    ['Rate limit reached for tokens per minute: limit 30000, used 29000'],
    ['temperature must be at most 2, got 3'],
    ['max_tokens must be at least 1, got abc'],
    ['messages[0].content must be a string'],
    ['The model `tiny` does not exist.'],
    ['Internal server error'],
    ['EngineCore encountered an issue. See stack trace for the root cause.'],
  ])('do not include: %s', (text) => {
    expect(saysOverflow(text)).toBe(false);
  });

  it('tell the whole context where they do', () => {
    expect(contextLengthIn("This model's maximum context length is 4096 tokens.")).toBe(4096);
    expect(contextLengthIn("However, the model's context length is only 262144 tokens")).toBe(262144);
    expect(contextLengthIn("exceeds model's maximum context length (4096).")).toBe(4096);
    expect(
      contextLengthIn(
        'request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it',
      ),
    ).toBe(8192);
    expect(
      contextLengthIn(
        'Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.',
      ),
    ).toBe(4096);
    expect(
      contextLengthIn('is greater than the context length (n_keep: 5005>= n_ctx: 4096). Try to load'),
    ).toBe(4096);
    expect(contextLengthIn('Requested tokens (2285) exceed context window of 2048')).toBe(2048);
    expect(contextLengthIn('max_tokens must be at least 1, got -186.')).toBeNull();
  });
});

describe('an endpoint', () => {
  it.each([
    ['http://h:8000', 'http://h:8000/v1/chat/completions'],
    ['http://h:8000/', 'http://h:8000/v1/chat/completions'],
    ['http://h:8000/v1', 'http://h:8000/v1/chat/completions'],
    ['http://h:8000/v1/', 'http://h:8000/v1/chat/completions'],
    ['http://h:8000/v1/chat/completions', 'http://h:8000/v1/chat/completions'],
    ['https://h/openai/v1', 'https://h/openai/v1/chat/completions'],
  ])('%s asks %s', (url, chat) => {
    expect(readEndpoint(url).chat.href).toBe(chat);
  });

  it('is shown without the credentials that a person wrote into it', () => {
    expect(readEndpoint('http://me:secret@h:8000/v1?key=secret').shown).toBe('http://h:8000/v1');
  });

  it.each([['h:8000'], ['ftp://h'], ['']])('%j is refused with one clear line', (url) => {
    expect(() => readEndpoint(url)).toThrow(/is no http\(s\) URL/);
  });
});

describe('a secret', () => {
  it('is shown by nothing but reveal', () => {
    const secret = new Secret('sk-hidden');
    expect(
      [String(secret), JSON.stringify({ secret }), inspect({ deep: { secret } }, { depth: 9 })].join(),
    ).not.toContain('sk-hidden');
    expect(secret.reveal()).toBe('sk-hidden');
  });
});
