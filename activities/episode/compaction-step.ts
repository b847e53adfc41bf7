// What a compaction leaves in a trajectory: a mark in its own step, and a file for each question that was asked beside it.
import type { Compaction, CompactionPart, TrajectoryStep } from '../../domain/ports.ts';
import type { AtifStep } from './atif.ts';

const partName = ({ ordinal }: Compaction, { name }: CompactionPart): string =>
  `summarization-${ordinal}-${name}`;
export const partFile = (compaction: Compaction, part: CompactionPart): string =>
  `trajectory.${partName(compaction, part)}.json`;
export const partSession = (sessionId: string, compaction: Compaction, part: CompactionPart): string =>
  `${sessionId}-${partName(compaction, part)}`;

/** Of the system step that stands where the chat was replaced. */
export function compactionFields(
  compaction: Compaction,
  sessionId: string,
): Pick<AtifStep, 'observation' | 'llm_call_count' | 'extra'> {
  const { ordinal, trigger, outcome, tokensEstimate, limitTokens, parts } = compaction;
  return {
    llm_call_count: parts.length,
    ...(parts.length > 0 && {
      observation: {
        results: [
          {
            subagent_trajectory_ref: parts.map((part) => ({
              trajectory_path: partFile(compaction, part),
              session_id: partSession(sessionId, compaction, part),
            })),
          },
        ],
      },
    }),
    extra: {
      context_management: {
        type: 'compaction',
        ...(outcome !== 'none' && { boundary: 'replace' }),
        ordinal,
        trigger,
        outcome,
        tokens_before: tokensEstimate,
        tokens_estimated: true,
        prompt_tokens_limit: limitTokens,
      },
    },
  };
}

/** The steps of a chat, as another file begins with it. */
export const chatSteps = (messages: Compaction['after']): TrajectoryStep[] =>
  messages.map(({ role, content, reasoning }) => ({
    source: role === 'assistant' ? 'agent' : role === 'system' ? 'system' : 'user',
    message: content,
    ...(reasoning !== undefined && { reasoning }),
  }));

/** One question with its answer, after the chat that it was asked in. */
export const partSteps = ({ history, question, answer, call }: CompactionPart): TrajectoryStep[] => [
  ...chatSteps(history),
  { source: 'user', message: question },
  {
    source: 'agent',
    message: answer?.text ?? '',
    ...(answer?.reasoning != null && { reasoning: answer.reasoning }),
    call,
  },
];
