// The trajectory of an episode: the scaffold's own steps, with times, tokens and ids from the reply records.
import type { ReplyRecord } from '../../domain/episode.ts';
import type { TrajectoryStep } from '../../domain/ports.ts';
import { wireTool, type ToolDefinition } from '../../domain/tools.ts';
import { compactionFields } from './compaction-step.ts';
import { AtifSchema, type Atif, type AtifStep } from './atif.ts';

export interface TrajectoryInput {
  readonly sessionId: string;
  readonly agent: { readonly name: string; readonly version: string };
  /** Null where the scaffold asks no model. */
  readonly modelName: string | null;
  readonly options: Readonly<Record<string, unknown>>;
  readonly instruction: string;
  readonly steps: readonly TrajectoryStep[];
  readonly replies: readonly ReplyRecord[];
  /** What the requests offered; absent: nothing. */
  readonly tools?: readonly ToolDefinition[];
  /** Session of the episode that a compaction's questions belong to, where this file's is another. */
  readonly partsSessionId?: string;
  /** Replies from the first that the totals hold; absent: all. */
  readonly counted?: number;
  /** Steps from the start that repeat what another file holds. */
  readonly copied?: number;
  readonly continuationIndex?: number;
  /** The file that it goes on in. */
  readonly continuedBy?: string;
  /** Of the whole episode, in its last file. */
  readonly totals?: Readonly<Record<string, unknown>>;
}

/**
 * The episode in ATIF v1.8, checked by its schema. An episode that ended before its scaffold said anything holds the
 * instruction alone: the format wants at least one step.
 */
export function trajectoryOf(input: TrajectoryInput): Atif {
  const { modelName } = input;
  const replies = input.replies.slice(0, input.counted);
  const tools = (input.tools ?? []).map(wireTool);
  const steps: readonly TrajectoryStep[] =
    input.steps.length > 0 ? input.steps : [{ source: 'user', message: input.instruction }];
  return AtifSchema.parse({
    schema_version: 'ATIF-v1.8',
    session_id: input.sessionId,
    agent: {
      ...input.agent,
      ...(modelName !== null && { model_name: modelName }),
      ...(tools.length > 0 && { tool_definitions: tools }),
      extra: {
        ...input.options,
        ...(input.continuationIndex !== undefined && { continuation_index: input.continuationIndex }),
      },
    },
    steps: steps.map((step, at) => stepOf(step, at + 1, input)),
    final_metrics: {
      total_prompt_tokens: replies.reduce((sum, { usage }) => sum + usage.promptTokens, 0),
      total_completion_tokens: replies.reduce((sum, { usage }) => sum + usage.completionTokens, 0),
      ...(replies.some(({ usage }) => usage.cachedTokens !== null) && {
        total_cached_tokens: replies.reduce((sum, { usage }) => sum + (usage.cachedTokens ?? 0), 0),
      }),
      total_steps: steps.length,
      ...(input.totals && { extra: { ...input.totals } }),
    },
    ...(input.continuedBy !== undefined && { continued_trajectory_ref: input.continuedBy }),
  } satisfies Atif);
}

function stepOf(step: TrajectoryStep, id: number, input: TrajectoryInput): AtifStep {
  const { replies, modelName, copied = 0 } = input;
  const { reasoning, toolCalls, observation, results, call } = step;
  const reply = call === undefined ? undefined : replies[call];
  const [only, ...others] = toolCalls ?? [];
  return {
    step_id: id,
    ...(reply && { timestamp: reply.times.startedAt }),
    source: step.source,
    ...(step.source === 'agent' && modelName !== null && { model_name: modelName }),
    message: step.message,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(toolCalls && {
      tool_calls: toolCalls.map((one) => ({
        tool_call_id: one.id,
        function_name: one.name,
        arguments: { ...one.arguments },
      })),
    }),
    ...(observation !== undefined && {
      observation: {
        results: [{ ...(only && others.length === 0 && { source_call_id: only.id }), content: observation }],
      },
    }),
    ...(results !== undefined && {
      observation: {
        results: results.map(({ callId, content }) => ({ source_call_id: callId, content })),
      },
    }),
    ...(reply && { metrics: metricsOf(reply) }),
    ...(id <= copied && { is_copied_context: true }),
    ...(step.compaction && compactionFields(step.compaction, input.partsSessionId ?? input.sessionId)),
  };
}

/** Prompt ids stay in the turn records: whole, they would grow with the square of the episode. */
function metricsOf(reply: ReplyRecord): NonNullable<AtifStep['metrics']> {
  const { usage, completionIds, logprobs, times, promptIds } = reply;
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    ...(usage.cachedTokens !== null && { cached_tokens: usage.cachedTokens }),
    ...(completionIds && { completion_token_ids: completionIds }),
    ...(logprobs && { logprobs }),
    extra: {
      first_token_ms: times.firstTokenMs,
      last_token_ms: times.lastTokenMs,
      earlier_tries: times.earlierTries,
      ...(times.queuedMs !== undefined && { queued_ms: times.queuedMs }),
      ...(usage.estimated && { tokens_estimated: true }),
      ...(promptIds?.extends === false && {
        prompt_ids_break: { index: promptIds.breakIndex, cause: promptIds.breakCause },
      }),
    },
  };
}
