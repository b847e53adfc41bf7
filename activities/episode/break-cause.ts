// Why a prompt does not extend the ids that are known: from the ids and what is known of each reply, without a tokenizer.
import type { BreakCause } from '../../domain/episode.ts';

/** Where a reply's sampled ids lie in what is known, and what it was. */
export interface Sampled {
  readonly start: number;
  readonly end: number;
  /** Ids from its start that are thinking, at least; null where that is not known. */
  readonly reasoningIds: number | null;
  readonly calledTools: boolean;
  /** It ended by itself, so that its last id is the one that ended it. */
  readonly stopped: boolean;
}

export interface Break {
  readonly known: readonly number[];
  readonly prompt: readonly number[];
  /** Index of the first known id that the prompt does not have in its place. */
  readonly at: number;
  readonly sampled: readonly Sampled[];
  /** Whether the chat that was asked begins with the one before and its reply. */
  readonly historyExtends: boolean;
}

/** A template's opening of a reply may open its thinking, too: ids before a reply's own that belong to it. */
const longestOpening = 16;
/** Ids that a new encoding of the same text puts in the place of others, at most, before both go on alike. */
const longestDetour = 32;
const longestRun = 8;
const rejoiningRun = 4;

/** The cause of a break, as `breakCauses` lists them. */
export function breakCauseOf(found: Break): BreakCause {
  const { at, sampled, historyExtends } = found;
  if (!historyExtends) return 'history-changed';
  const reply = sampled.find(({ end }) => at < end);
  if (reply === undefined || at < reply.start - longestOpening) return 'template';
  if (lostThinking(found, reply)) return 'thinking-stripped';
  if (reply.stopped && at === reply.end - 1) return 'stop-token';
  if (reply.calledTools) return 'calls-rewritten';
  // Thinking that is handed back is written by the template from its parsed form: that is no text said again.
  const textBegins = reply.reasoningIds === 0 ? 0 : reply.start + (reply.reasoningIds ?? Infinity);
  return at >= textBegins && rejoins(found, reply) ? 'retokenized' : 'template';
}

/** Whether the prompt goes on, where it breaks, without what is left of the reply's thinking. */
function lostThinking({ known, prompt, at }: Break, { start, reasoningIds }: Sampled): boolean {
  const rest = known.slice(Math.max(start, at), start + (reasoningIds ?? 0));
  if (rest.length === 0) return false;
  const run = Math.min(longestRun, Math.ceil(rest.length / 2));
  const furthest = Math.min(longestDetour, rest.length - run);
  for (let from = 0; from <= furthest; from += 1) {
    for (let to = 0; to <= longestDetour; to += 1) {
      if (sameRun({ ids: rest, at: from }, { ids: prompt, at: at + to }, run)) return false;
    }
  }
  return true;
}

/** Whether known ids and prompt meet again soon, each after other ids of its own: the text between is the same. */
function rejoins({ known, prompt, at }: Break, { start, end }: Sampled): boolean {
  for (let both = 1; both <= 2 * longestDetour; both += 1) {
    for (let left = Math.max(0, both - longestDetour); left <= Math.min(both, longestDetour); left += 1) {
      const run = Math.min(rejoiningRun, known.length - at - left);
      if (run < 1 || at + left > end) continue;
      const meets = { ids: known, at: at + left };
      if (!sameRun(meets, { ids: prompt, at: at + both - left }, run)) continue;
      return left > 0 && both > left && at + left > start;
    }
  }
  return false;
}

interface Place {
  readonly ids: readonly number[];
  readonly at: number;
}

function sameRun(a: Place, b: Place, length: number): boolean {
  for (let step = 0; step < length; step += 1) if (a.ids[a.at + step] !== b.ids[b.at + step]) return false;
  return true;
}
