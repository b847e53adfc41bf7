// What became of the exact ids in an episode, counted from its reply records.
import type { BreakCause, ReplyRecord, TokenIds } from '../../domain/episode.ts';

export function tokenIdsOf(replies: readonly Pick<ReplyRecord, 'promptIds' | 'completionIds'>[]): TokenIds {
  const breaks: Partial<Record<BreakCause, number>> = {};
  for (const { promptIds } of replies) {
    const cause = promptIds?.breakCause ?? null;
    if (cause !== null) breaks[cause] = (breaks[cause] ?? 0) + 1;
  }
  return {
    exact: replies.filter(({ promptIds, completionIds }) => promptIds !== null && completionIds !== null)
      .length,
    breaks,
  };
}
