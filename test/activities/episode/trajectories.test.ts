// The files of an episode whose chat was compacted: one or several of its own, and one for each question.
import { describe, expect, it } from 'vitest';
import { trajectoriesOf } from '../../../activities/episode/trajectories.ts';
import type { TrajectoryInput } from '../../../activities/episode/trajectory.ts';
import type { ReplyRecord } from '../../../domain/episode.ts';
import type { Compaction, TrajectoryStep } from '../../../domain/ports.ts';

const reply = (call: number): ReplyRecord => ({
  format: 'passband.reply',
  version: 2,
  call,
  kind: 'reply',
  requestDigest: 'x',
  text: `reply ${call}`,
  reasoning: null,
  finishReason: 'stop',
  promptIds: null,
  completionIds: [call],
  reasoningIds: 0,
  logprobs: [-0.1],
  usage: { promptTokens: 100 + call, completionTokens: 10, cachedTokens: null, estimated: false },
  times: { startedAt: '2026-01-01T00:00:00.000Z', firstTokenMs: 3, lastTokenMs: 9 + call, earlierTries: 0 },
});
const user = (content: string) => ({ role: 'user', content }) as const;
const assistant = (content: string) => ({ role: 'assistant', content }) as const;

const compaction = (fields: Partial<Compaction> = {}): Compaction => ({
  ordinal: 1,
  trigger: 'threshold',
  outcome: 'summary',
  tokensEstimate: 9_000,
  limitTokens: 10_000,
  parts: [
    {
      name: 'summary',
      history: [user('first'), assistant('reply 0')],
      question: 'Summarise.',
      answer: { text: 'SUMMARY', reasoning: 'hm' },
      call: 1,
    },
    { name: 'questions', history: [], question: 'Ask.', answer: { text: 'Q', reasoning: null }, call: 2 },
    { name: 'answers', history: [], question: 'Answer.', answer: null, call: 3 },
  ],
  before: [user('first'), assistant('reply 0')],
  after: [user('first'), user('Ask.'), assistant('Q')],
  splits: false,
  ...fields,
});

const steps = (of: Compaction): TrajectoryStep[] => [
  { source: 'user', message: 'first' },
  { source: 'agent', message: 'reply 0', call: 0 },
  { source: 'system', message: 'compacted', compaction: of },
  { source: 'user', message: 'A' },
  { source: 'agent', message: 'reply 4', call: 4 },
];
const input = (of: Compaction): TrajectoryInput => ({
  sessionId: 'sid',
  agent: { name: 'terminus-2', version: '2.0.0' },
  modelName: 'm',
  options: { parser_name: 'json' },
  instruction: 'Do it.',
  steps: steps(of),
  replies: [0, 1, 2, 3, 4].map(reply),
});

describe('the files of a compacted episode', () => {
  it('are its trajectory, with a mark that names the questions, and a trajectory of each question', () => {
    const [own, ...parts] = trajectoriesOf(input(compaction()));
    expect([own.name, ...parts.map(({ name }) => name)]).toStrictEqual([
      'trajectory.json',
      'trajectory.summarization-1-summary.json',
      'trajectory.summarization-1-questions.json',
      'trajectory.summarization-1-answers.json',
    ]);
    expect(own.trajectory.steps[2]).toStrictEqual({
      step_id: 3,
      source: 'system',
      message: 'compacted',
      llm_call_count: 3,
      observation: {
        results: [
          {
            subagent_trajectory_ref: ['summary', 'questions', 'answers'].map((part) => ({
              trajectory_path: `trajectory.summarization-1-${part}.json`,
              session_id: `sid-summarization-1-${part}`,
            })),
          },
        ],
      },
      extra: {
        context_management: {
          type: 'compaction',
          boundary: 'replace',
          ordinal: 1,
          trigger: 'threshold',
          outcome: 'summary',
          tokens_before: 9_000,
          tokens_estimated: true,
          prompt_tokens_limit: 10_000,
        },
      },
    });
    expect(own.trajectory.final_metrics).toMatchObject({
      total_prompt_tokens: 510,
      total_steps: 5,
      extra: { n_episodes: 2, summarization_count: 1, api_request_times_msec: [9, 10, 11, 12, 13] },
    });
  });

  it('hold in each question its own chat as copied, and its own tokens', () => {
    const [, summary, , answers] = trajectoriesOf(input(compaction()));
    expect(summary?.trajectory).toMatchObject({
      session_id: 'sid-summarization-1-summary',
      steps: [
        { source: 'user', message: 'first', is_copied_context: true },
        { source: 'agent', message: 'reply 0', is_copied_context: true },
        { source: 'user', message: 'Summarise.' },
        {
          source: 'agent',
          message: 'SUMMARY',
          reasoning_content: 'hm',
          metrics: { prompt_tokens: 101, completion_token_ids: [1] },
        },
      ],
      final_metrics: { total_prompt_tokens: 101 },
    });
    expect(summary?.trajectory.steps[1]?.metrics).toBeUndefined();
    expect(answers?.trajectory.steps.at(-1)).toMatchObject({ message: '', metrics: { prompt_tokens: 103 } });
  });

  it('go on in another file under linear history, which begins with a copy of the chat', () => {
    const [first, second] = trajectoriesOf(input(compaction({ splits: true })));
    expect(first.trajectory).toMatchObject({
      session_id: 'sid',
      continued_trajectory_ref: 'trajectory.cont-1.json',
      final_metrics: { total_prompt_tokens: 406 },
    });
    expect(first.trajectory.steps.map(({ source }) => source)).toStrictEqual(['user', 'agent', 'system']);
    expect(second?.name).toBe('trajectory.cont-1.json');
    expect(second?.trajectory).toMatchObject({
      session_id: 'sid-cont-1',
      agent: { extra: { continuation_index: 1 } },
      final_metrics: { total_prompt_tokens: 510, extra: { summarization_count: 1 } },
    });
    expect(
      second?.trajectory.steps.map(({ step_id, source, message, is_copied_context: copied }) => [
        step_id,
        source,
        message,
        copied ?? false,
      ]),
    ).toStrictEqual([
      [1, 'user', 'first', true],
      [2, 'user', 'Ask.', true],
      [3, 'agent', 'Q', true],
      [4, 'user', 'A', false],
      [5, 'agent', 'reply 4', false],
    ]);
    expect(second?.trajectory.continued_trajectory_ref).toBeUndefined();
  });

  it('are named by the session of the episode in every file of a linear history', () => {
    const twice = compaction({ splits: true });
    const again = compaction({ splits: true, ordinal: 2, parts: twice.parts.slice(0, 1) });
    const all: TrajectoryInput = {
      ...input(twice),
      steps: [...steps(twice), { source: 'system', message: 'compacted', compaction: again }],
    };
    const files = trajectoriesOf(all);
    expect(files.map(({ name }) => name).slice(0, 3)).toStrictEqual([
      'trajectory.json',
      'trajectory.cont-1.json',
      'trajectory.cont-2.json',
    ]);
    expect(JSON.stringify(files[1]?.trajectory)).toContain('"session_id":"sid-summarization-2-summary"');
    expect(files.at(-1)?.trajectory.session_id).toBe('sid-summarization-2-summary');
  });

  it('say of a compaction that replaced nothing no boundary', () => {
    const [own] = trajectoriesOf(input(compaction({ outcome: 'none', parts: [] })));
    expect(own.trajectory.steps[2]?.extra).toMatchObject({
      context_management: { type: 'compaction', outcome: 'none' },
    });
    expect(JSON.stringify(own.trajectory)).not.toContain('boundary');
    expect(own.trajectory.steps[2]?.llm_call_count).toBe(0);
  });

  it('are one where nothing was compacted', () => {
    const plain = { ...input(compaction()), steps: steps(compaction()).slice(0, 2) };
    expect(trajectoriesOf(plain)).toHaveLength(1);
  });
});
