// The options of the bash scaffold: its system prompt and its limits, all of them part of a trial's identity.
import { z } from 'zod';
import { InputError } from '../../domain/errors.ts';
import { PromptSchema, readOptions, readPrompt, type Prompt } from '../read-options.ts';

const mostTurns = 1_000_000;
const seconds = z.number().positive().max(86_400);

const WrittenSchema = z.strictObject({
  /** The system prompt, in place of ours. */
  prompt: PromptSchema,
  max_turns: z.int().positive().nullable().default(null),
  /** What ends the episode: a reply that calls nothing, or the tool submit. */
  finish: z.enum(['answer', 'submit']).default('answer'),
  tool_choice: z.enum(['auto', 'required']).default('auto'),
  /** Of a call that names no time of its own, and the most that one may name. */
  command_timeout_sec: seconds.default(120),
  max_command_timeout_sec: seconds.default(3_600),
  /** Bytes of a call's output that the model is shown: first half and last half. */
  output_limit_bytes: z
    .int()
    .min(200)
    .max(1024 ** 2)
    .default(16_000),
  /** Turns in a row without a valid call, after which the episode ends. */
  max_invalid_turns: z.int().positive().default(3),
  /** Re-asks in a row after replies that were cut by their length. */
  max_length_reasks: z.int().min(0).default(3),
  /** Hands reasoning_content back with the calls that came of it. */
  interleaved_thinking: z.boolean().default(true),
});

/** Every option with its value: what is recorded as the scaffold's options. */
export interface BashOptions extends Omit<z.output<typeof WrittenSchema>, 'prompt' | 'max_turns'> {
  readonly prompt: Prompt | null;
  readonly max_turns: number;
}

/**
 * Options as written, with every default filled in; the result parses to itself.
 * @throws InputError with one line that names the option
 */
export function parseBashOptions(written: Readonly<Record<string, unknown>>): BashOptions {
  const options = readOptions('bash', WrittenSchema, written);
  if (options.tool_choice === 'required' && options.finish === 'answer') {
    throw new InputError(
      'scaffold bash: option tool_choice: with required no reply is an answer: set finish to submit',
    );
  }
  if (options.command_timeout_sec > options.max_command_timeout_sec) {
    throw new InputError('scaffold bash: option command_timeout_sec: it is above max_command_timeout_sec');
  }
  return {
    ...options,
    prompt: readPrompt('bash', options.prompt),
    max_turns: options.max_turns ?? mostTurns,
  };
}
