// ATIF v1.8, the field's trajectory format, as a schema: what is written is parsed by it first.
import { z } from 'zod';

const extra = z.record(z.string(), z.unknown()).optional();

const SourceSchema = z.strictObject({
  media_type: z.string(),
  path: z.string(),
  duration_sec: z.number().optional(),
});
const ContentPartSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('image'), source: SourceSchema }),
  z.strictObject({ type: z.literal('audio'), source: SourceSchema }),
]);
const ContentSchema = z.union([z.string(), z.array(ContentPartSchema)]);

const ToolCallSchema = z.strictObject({
  tool_call_id: z.string(),
  function_name: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  extra,
});

const SubagentRefSchema = z
  .strictObject({
    trajectory_id: z.string().optional(),
    trajectory_path: z.string().optional(),
    session_id: z.string().optional(),
    extra,
  })
  .refine((ref) => ref.trajectory_id !== undefined || ref.trajectory_path !== undefined, {
    error: 'names neither trajectory_id nor trajectory_path',
  });

const ObservationSchema = z.strictObject({
  results: z.array(
    z.strictObject({
      source_call_id: z.string().optional(),
      content: ContentSchema.optional(),
      subagent_trajectory_ref: z.array(SubagentRefSchema).optional(),
      extra,
    }),
  ),
});

const MetricsSchema = z.strictObject({
  prompt_tokens: z.int().min(0).optional(),
  completion_tokens: z.int().min(0).optional(),
  cached_tokens: z.int().min(0).optional(),
  cost_usd: z.number().min(0).optional(),
  prompt_token_ids: z.array(z.int()).optional(),
  completion_token_ids: z.array(z.int()).optional(),
  logprobs: z.array(z.number()).optional(),
  extra,
});

const agentOnly = [
  'model_name',
  'reasoning_effort',
  'reasoning_content',
  'tool_calls',
  'observation',
  'metrics',
] as const;

const StepSchema = z
  .strictObject({
    step_id: z.int().positive(),
    timestamp: z.iso.datetime({ offset: true }).optional(),
    source: z.enum(['system', 'user', 'agent']),
    model_name: z.string().optional(),
    reasoning_effort: z.union([z.string(), z.number()]).optional(),
    message: ContentSchema,
    reasoning_content: z.string().optional(),
    tool_calls: z.array(ToolCallSchema).optional(),
    observation: ObservationSchema.optional(),
    metrics: MetricsSchema.optional(),
    is_copied_context: z.boolean().optional(),
    llm_call_count: z.int().min(0).optional(),
    extra,
  })
  .superRefine((step, context) => {
    for (const key of agentOnly) {
      if (step.source !== 'agent' && key !== 'observation' && step[key] !== undefined) {
        context.addIssue({ code: 'custom', path: [key], message: 'belongs to agent steps only' });
      }
    }
    if (step.llm_call_count === 0 && (step.metrics !== undefined || step.reasoning_content !== undefined)) {
      context.addIssue({
        code: 'custom',
        path: ['llm_call_count'],
        message: 'is 0 beside metrics or reasoning',
      });
    }
    const calls = new Set(step.tool_calls?.map((call) => call.tool_call_id));
    for (const { source_call_id: id } of step.observation?.results ?? []) {
      if (id !== undefined && !calls.has(id)) {
        context.addIssue({ code: 'custom', path: ['observation'], message: `names the unknown call ${id}` });
      }
    }
  });
export type AtifStep = z.infer<typeof StepSchema>;

/** A trajectory of version 1.8; unknown keys are forbidden everywhere, steps count from 1 without gaps. */
export const AtifSchema = z
  .strictObject({
    schema_version: z.literal('ATIF-v1.8'),
    session_id: z.string().optional(),
    trajectory_id: z.string().optional(),
    agent: z.strictObject({
      name: z.string(),
      version: z.string(),
      model_name: z.string().optional(),
      tool_definitions: z.array(z.record(z.string(), z.unknown())).optional(),
      extra,
    }),
    steps: z.array(StepSchema).min(1),
    notes: z.string().optional(),
    final_metrics: z
      .strictObject({
        total_prompt_tokens: z.int().min(0).optional(),
        total_completion_tokens: z.int().min(0).optional(),
        total_cached_tokens: z.int().min(0).optional(),
        total_cost_usd: z.number().min(0).optional(),
        total_steps: z.int().min(0).optional(),
        extra,
      })
      .optional(),
    continued_trajectory_ref: z.string().optional(),
    extra,
  })
  .refine(({ steps }) => steps.every((step, at) => step.step_id === at + 1), {
    error: 'steps must count from 1 without gaps',
    path: ['steps'],
  });
export type Atif = z.infer<typeof AtifSchema>;
