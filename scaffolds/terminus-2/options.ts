// The options of Terminus-2: the reference's names where it has them, and ours for each place where we differ.
import { z } from 'zod';
import { InputError } from '../../domain/errors.ts';
import { PromptSchema, readOptions, readPrompt, type Prompt } from '../read-options.ts';

const mostTurns = 1_000_000;

const TrajectorySchema = z.strictObject({
  /** Raw replies as the steps' messages, and no tool calls. */
  raw_content: z.boolean().default(false),
  /** A file of its own for what follows a compaction. */
  linear_history: z.boolean().default(false),
});

const WrittenSchema = z.strictObject({
  parser_name: z.enum(['json', 'xml']).default('json'),
  max_turns: z.int().positive().nullable().default(null),
  interleaved_thinking: z.boolean().default(false),
  tmux_pane_width: z.int().min(20).max(1000).default(160),
  tmux_pane_height: z.int().min(5).max(1000).default(40),
  enable_summarize: z.boolean().default(true),
  proactive_summarization_threshold: z.int().min(0).default(8_000),
  trajectory_config: TrajectorySchema.prefault({}),
  /** A template of the user's in place of our words. */
  prompt: PromptSchema,
  /** `merged`: no two messages of the user in a row after a compaction, for templates that refuse them. */
  compacted_history: z.enum(['separate', 'merged']).default('separate'),
  /** `strict`: the reference's parsing, re-asks, durations and margins, for whatever of those below is not set. */
  compat: z.enum(['none', 'strict']).default('none'),
  think_blocks: z.enum(['set-aside', 'keep']).optional(),
  object_choice: z.enum(['validating', 'first']).optional(),
  complete_tag: z.enum(['own', 'anywhere']).optional(),
  durations: z.enum(['checked', 'reference']).optional(),
  context_margins: z.enum(['scaled', 'reference']).optional(),
  max_length_reasks: z.int().min(0).nullable().optional(),
});

/** Every option with its value: what is recorded as the scaffold's options. */
export interface Terminus2Options {
  readonly parser_name: 'json' | 'xml';
  readonly max_turns: number;
  readonly interleaved_thinking: boolean;
  readonly tmux_pane_width: number;
  readonly tmux_pane_height: number;
  readonly enable_summarize: boolean;
  /** Tokens: with fewer free, the chat is compacted before the next turn. */
  readonly proactive_summarization_threshold: number;
  readonly trajectory_config: { readonly raw_content: boolean; readonly linear_history: boolean };
  readonly prompt: Prompt | null;
  readonly compacted_history: 'separate' | 'merged';
  readonly compat: 'none' | 'strict';
  readonly think_blocks: 'set-aside' | 'keep';
  readonly object_choice: 'validating' | 'first';
  readonly complete_tag: 'own' | 'anywhere';
  readonly durations: 'checked' | 'reference';
  /** `scaled`: in a short context the margins of a compaction are parts of it. */
  readonly context_margins: 'scaled' | 'reference';
  /** Re-asks in a row after replies that were cut by their length; null: without a bound. */
  readonly max_length_reasks: number | null;
}

const ours = {
  think_blocks: 'set-aside',
  object_choice: 'validating',
  complete_tag: 'own',
  durations: 'checked',
  context_margins: 'scaled',
  max_length_reasks: 3,
} as const;
const reference = {
  think_blocks: 'keep',
  object_choice: 'first',
  complete_tag: 'anywhere',
  durations: 'reference',
  context_margins: 'reference',
  max_length_reasks: null,
} as const;

/** Options of the reference that are settled elsewhere here. */
const elsewhere: Readonly<Record<string, string>> = {
  temperature: 'set it in the sampling of the model',
  reasoning_effort: 'set reasoningEffort in the sampling of the model',
  max_tokens: 'set maxTokens in the sampling of the model',
  llm_kwargs: 'set the sampling of the model',
  llm_call_kwargs: 'set the sampling of the model',
  api_base: 'set the endpoint of the model',
  model_info: 'the server tells its limits',
  session_id: 'the trial is the session',
  session_id_headers: 'X-Session-ID is always sent',
  record_terminal_session: 'the terminal is always recorded',
  collect_rollout_details: 'token ids and logprobs are always kept',
  store_all_messages: 'all messages are always kept',
  parser: 'it is parser_name',
};

function refuse(what: string): never {
  throw new InputError(`scaffold terminus-2: ${what}`);
}

function checkPrompt(prompt: Prompt | null): Prompt | null {
  for (const place of ['{instruction}', '{terminal_state}']) {
    if (prompt?.text.includes(place) === false)
      refuse(`the prompt template lacks ${place}: put it where that text belongs`);
  }
  return prompt;
}

/**
 * Options as written, with every default filled in; the result parses to itself.
 * @throws InputError with one line that names the option
 */
export function parseTerminus2Options(written: Readonly<Record<string, unknown>>): Terminus2Options {
  for (const key of Object.keys(written)) {
    const hint = elsewhere[key];
    if (hint !== undefined) refuse(`no option ${key} here: ${hint}`);
  }
  const { max_turns, prompt, ...options } = readOptions('terminus-2', WrittenSchema, written);
  const defaults = options.compat === 'strict' ? reference : ours;
  return {
    ...options,
    max_turns: max_turns ?? mostTurns,
    prompt: checkPrompt(readPrompt('terminus-2', prompt)),
    think_blocks: options.think_blocks ?? defaults.think_blocks,
    object_choice: options.object_choice ?? defaults.object_choice,
    complete_tag: options.complete_tag ?? defaults.complete_tag,
    durations: options.durations ?? defaults.durations,
    context_margins: options.context_margins ?? defaults.context_margins,
    max_length_reasks:
      options.max_length_reasks === undefined ? defaults.max_length_reasks : options.max_length_reasks,
  };
}
