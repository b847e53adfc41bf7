// All trajectory files of an episode: the episode's own, in one file or one after each compaction, and the questions'.
import type { Compaction, TrajectoryStep } from '../../domain/ports.ts';
import type { Atif } from './atif.ts';
import { chatSteps, partFile, partSession, partSteps } from './compaction-step.ts';
import { tokenIdsOf } from './token-ids.ts';
import { trajectoryOf, type TrajectoryInput } from './trajectory.ts';

export interface TrajectoryFile {
  readonly name: string;
  readonly trajectory: Atif;
}

interface Segment {
  readonly copied: readonly TrajectoryStep[];
  readonly steps: TrajectoryStep[];
}

const segmentFile = (index: number): string =>
  index === 0 ? 'trajectory.json' : `trajectory.cont-${index}.json`;

/** A compaction that splits ends its segment; the next begins with the chat that it left. */
function segmentsOf(steps: readonly TrajectoryStep[]): Segment[] {
  let current: Segment = { copied: [], steps: [] };
  const segments = [current];
  for (const step of steps) {
    current.steps.push(step);
    if (step.compaction?.splits !== true) continue;
    current = { copied: chatSteps(step.compaction.after), steps: [] };
    segments.push(current);
  }
  // The episode's end may come between a compaction and what follows from it.
  return segments.filter((segment, at) => at === 0 || segment.copied.length + segment.steps.length > 0);
}

/** Model calls up to the end of these steps. */
function callsBy(steps: readonly TrajectoryStep[]): number {
  const calls = steps.flatMap(({ call, compaction }) => [
    ...(call === undefined ? [] : [call]),
    ...(compaction?.parts ?? []).map((part) => part.call),
  ]);
  return calls.reduce((most, call) => Math.max(most, call + 1), 0);
}

function ownFiles(input: TrajectoryInput, compactions: readonly Compaction[]): TrajectoryFile[] {
  const segments = segmentsOf(input.steps);
  const { replies, sessionId } = input;
  return segments.map(({ copied, steps }, index) => {
    const last = index === segments.length - 1;
    return {
      name: segmentFile(index),
      trajectory: trajectoryOf({
        ...input,
        sessionId: index === 0 ? sessionId : `${sessionId}-cont-${index}`,
        partsSessionId: sessionId,
        steps: [...copied, ...steps],
        replies,
        counted: last ? replies.length : callsBy(segments.slice(0, index + 1).flatMap((one) => one.steps)),
        copied: copied.length,
        ...(index > 0 && { continuationIndex: index }),
        ...(last ? { totals: totalsOf(input, compactions) } : { continuedBy: segmentFile(index + 1) }),
      }),
    };
  });
}

function partFiles(input: TrajectoryInput, compactions: readonly Compaction[]): TrajectoryFile[] {
  return compactions.flatMap((compaction) =>
    compaction.parts.map((part) => {
      const { [part.call]: reply } = input.replies;
      const steps = partSteps({ ...part, call: 0 });
      return {
        name: partFile(compaction, part),
        trajectory: trajectoryOf({
          ...input,
          sessionId: partSession(input.sessionId, compaction, part),
          steps,
          replies: reply === undefined ? [] : [reply],
          copied: part.history.length,
        }),
      };
    }),
  );
}

/** The reference's own counts of an episode, and where its ids are exact. */
function totalsOf(
  { steps, replies }: TrajectoryInput,
  compactions: readonly Compaction[],
): Readonly<Record<string, unknown>> {
  const tokenIds = tokenIdsOf(replies);
  return {
    n_episodes: steps.filter(({ source }) => source === 'agent').length,
    api_request_times_msec: replies.map(({ times }) => times.lastTokenMs),
    summarization_count: compactions.length,
    ...(tokenIds.exact > 0 && {
      exact_ids_replies: tokenIds.exact,
      prompt_ids_breaks: tokenIds.breaks,
    }),
  };
}

/** The episode's files, its own first. */
export function trajectoriesOf(input: TrajectoryInput): [TrajectoryFile, ...TrajectoryFile[]] {
  const compactions = input.steps.flatMap(({ compaction }) => compaction ?? []);
  const [first, ...others] = [...ownFiles(input, compactions), ...partFiles(input, compactions)];
  if (first === undefined) throw new RangeError('an episode has a trajectory');
  return [first, ...others];
}
