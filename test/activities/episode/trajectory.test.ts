// Trajectories: what is written is ATIF v1.8, and what is not is refused.
import { describe, expect, it } from 'vitest';
import { AtifSchema } from '../../../activities/episode/atif.ts';
import { trajectoryOf, type TrajectoryInput } from '../../../activities/episode/trajectory.ts';
import type { ReplyRecord } from '../../../domain/episode.ts';

const reply: ReplyRecord = {
  format: 'passband.reply',
  version: 2,
  call: 0,
  kind: 'reply',
  requestDigest: 'x',
  text: '{}',
  reasoning: null,
  finishReason: 'stop',
  promptIds: null,
  completionIds: [5, 6],
  reasoningIds: 0,
  logprobs: [-0.1, -0.2],
  usage: { promptTokens: 7, completionTokens: 2, cachedTokens: 1, estimated: true },
  times: { startedAt: '2026-01-01T00:00:00.000Z', firstTokenMs: 3, lastTokenMs: 9, earlierTries: 1 },
};
const input: TrajectoryInput = {
  sessionId: 's/t/m/x/1/1/main',
  agent: { name: 'terminus-2', version: '2.0.0' },
  modelName: 'm',
  options: { parser_name: 'json' },
  instruction: 'Do it.',
  steps: [
    { source: 'user', message: 'Do it.' },
    {
      source: 'agent',
      message: 'Analysis: none',
      reasoning: 'hm',
      toolCalls: [{ id: 'call_0_1', name: 'bash_command', arguments: { keystrokes: 'ls\n' } }],
      observation: 'a b',
      call: 0,
    },
  ],
  replies: [reply],
};

describe('trajectoryOf', () => {
  it('puts times, tokens and ids of a reply to the step that it belongs to', () => {
    expect(trajectoryOf(input).steps[1]).toMatchObject({
      step_id: 2,
      timestamp: '2026-01-01T00:00:00.000Z',
      model_name: 'm',
      reasoning_content: 'hm',
      observation: { results: [{ source_call_id: 'call_0_1', content: 'a b' }] },
      metrics: { prompt_tokens: 7, completion_tokens: 2, cached_tokens: 1, completion_token_ids: [5, 6] },
    });
  });

  it('C66: tells where a prompt did not extend the turn before it, and why', () => {
    const promptIds = {
      suffix: [1],
      prefixLength: 4,
      prefixSha256: 'x',
      extends: false,
      breakIndex: 4,
      breakCause: 'thinking-stripped' as const,
    };
    const { steps } = trajectoryOf({ ...input, replies: [{ ...reply, promptIds }] });
    expect(steps[1]?.metrics?.extra).toMatchObject({
      prompt_ids_break: { index: 4, cause: 'thinking-stripped' },
    });
  });

  it('names no call as the source of an observation where there were several', () => {
    const [first, second] = input.steps;
    const call = { id: 'call_0_2', name: 'bash_command', arguments: {} };
    const steps = [
      ...(first ? [first] : []),
      ...(second ? [{ ...second, toolCalls: [...(second.toolCalls ?? []), call] }] : []),
    ];
    expect(trajectoryOf({ ...input, steps }).steps[1]?.observation?.results).toEqual([{ content: 'a b' }]);
  });

  it('holds the instruction where the scaffold had no time to say anything', () => {
    const { steps } = trajectoryOf({ ...input, steps: [], replies: [] });
    expect(steps).toEqual([{ step_id: 1, source: 'user', message: 'Do it.' }]);
  });
});

describe('AtifSchema', () => {
  const whole = trajectoryOf(input);
  it.each<[string, unknown]>([
    ['an unknown key', { ...whole, more: 1 }],
    ['another version', { ...whole, schema_version: 'ATIF-v9' }],
    ['no step', { ...whole, steps: [] }],
    [
      'a gap in the steps',
      { ...whole, steps: whole.steps.map((step) => ({ ...step, step_id: step.step_id + 1 })) },
    ],
    [
      'metrics on a user step',
      { ...whole, steps: [{ step_id: 1, source: 'user', message: '', metrics: {} }] },
    ],
    [
      'an observation of a call that the step does not make',
      {
        ...whole,
        steps: [
          { step_id: 1, source: 'agent', message: '', observation: { results: [{ source_call_id: 'x' }] } },
        ],
      },
    ],
    [
      'metrics of a step without a model call',
      { ...whole, steps: [{ step_id: 1, source: 'agent', message: '', llm_call_count: 0, metrics: {} }] },
    ],
  ])('refuses %s', (_what, value) => {
    expect(AtifSchema.safeParse(value).success).toBe(false);
  });
});
