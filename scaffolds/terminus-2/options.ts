// The options of Terminus-2: the reference's names where it has them, and ours for each place where we differ.
import { createHash } from 'node:crypto';
import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { InputError } from '../../domain/errors.ts';

const mostTurns = 1_000_000;

const PromptSchema = z
  .strictObject({ text: z.string().min(1), sha256: z.string().optional() })
  .nullable()
  .default(null);

const WrittenSchema = z.strictObject({
  parser_name: z.literal('json', 'only the parser json is supported').default('json'),
  max_turns: z.int().positive().nullable().default(null),
  interleaved_thinking: z.boolean().default(false),
  tmux_pane_width: z.int().min(20).max(1000).default(160),
  tmux_pane_height: z.int().min(5).max(1000).default(40),
  enable_summarize: z
    .literal(
      false,
      'a summary at the context limit is not supported: an overflow ends the episode as out-of-context',
    )
    .default(false),
  /** A template of the user's in place of our words. */
  prompt: PromptSchema,
  /** `strict`: the reference's parsing, re-asks and durations, for whatever of the four below is not set. */
  compat: z.enum(['none', 'strict']).default('none'),
  think_blocks: z.enum(['set-aside', 'keep']).optional(),
  object_choice: z.enum(['validating', 'first']).optional(),
  durations: z.enum(['checked', 'reference']).optional(),
  max_length_reasks: z.int().min(0).nullable().optional(),
});

/** Every option with its value: what is recorded as the scaffold's options. */
export interface Terminus2Options {
  readonly parser_name: 'json';
  readonly max_turns: number;
  readonly interleaved_thinking: boolean;
  readonly tmux_pane_width: number;
  readonly tmux_pane_height: number;
  readonly enable_summarize: false;
  readonly prompt: { readonly text: string; readonly sha256: string } | null;
  readonly compat: 'none' | 'strict';
  readonly think_blocks: 'set-aside' | 'keep';
  readonly object_choice: 'validating' | 'first';
  readonly durations: 'checked' | 'reference';
  /** Re-asks in a row after replies that were cut by their length; null: without a bound. */
  readonly max_length_reasks: number | null;
}

const ours = {
  think_blocks: 'set-aside',
  object_choice: 'validating',
  durations: 'checked',
  max_length_reasks: 3,
} as const;
const reference = {
  think_blocks: 'keep',
  object_choice: 'first',
  durations: 'reference',
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
  trajectory_config: 'the trajectory is always linear',
  proactive_summarization_threshold: 'a summary at the context limit is not supported',
};

function refuse(what: string): never {
  throw new InputError(`scaffold terminus-2: ${what}`);
}

function explainUnknown(key: string): string {
  const hint = elsewhere[key];
  if (hint !== undefined) return `no option ${key} here: ${hint}`;
  const near = closest(key, Object.keys(WrittenSchema.shape));
  const like = distance(key, near) <= Math.max(2, key.length / 2);
  return `unknown option ${key}${like ? `: do you mean ${near}?` : `; it has ${Object.keys(WrittenSchema.shape).join(', ')}`}`;
}

function readPrompt(written: z.infer<typeof PromptSchema>): Terminus2Options['prompt'] {
  if (written === null) return null;
  const sha256 = createHash('sha256').update(written.text).digest('hex');
  if (written.sha256 !== undefined && written.sha256 !== sha256) {
    refuse(`prompt.sha256 is ${written.sha256}, but the text's is ${sha256}`);
  }
  for (const place of ['{instruction}', '{terminal_state}']) {
    if (!written.text.includes(place))
      refuse(`the prompt template lacks ${place}: put it where that text belongs`);
  }
  return { text: written.text, sha256 };
}

/**
 * Options as written, with every default filled in; the result parses to itself.
 * @throws InputError with one line that names the option
 */
export function parseTerminus2Options(written: Readonly<Record<string, unknown>>): Terminus2Options {
  const parsed = WrittenSchema.safeParse(written);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    if (issue?.code === 'unrecognized_keys') refuse(explainUnknown(issue.keys[0] ?? ''));
    return refuse(`option ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`);
  }
  const { max_turns, prompt, ...options } = parsed.data;
  const defaults = options.compat === 'strict' ? reference : ours;
  return {
    ...options,
    max_turns: max_turns ?? mostTurns,
    prompt: readPrompt(prompt),
    think_blocks: options.think_blocks ?? defaults.think_blocks,
    object_choice: options.object_choice ?? defaults.object_choice,
    durations: options.durations ?? defaults.durations,
    max_length_reasks:
      options.max_length_reasks === undefined ? defaults.max_length_reasks : options.max_length_reasks,
  };
}
