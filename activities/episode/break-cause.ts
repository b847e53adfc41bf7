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
function lostThinking({ known, prompt, at }: Break, { start, end, reasoningIds }: Sampled): boolean {
  const from = Math.max(start, at);
  const textBegins = start + (reasoningIds ?? 0);
  const left = textBegins - from;
  if (left <= 0) return false;
  // The text comes at once. Closing tags stand between it and the thinking; an empty block may be what is said of that.
  const soon = Math.min(longestDetour, Math.floor(left / 2));
  const text = { ids: known, from: textBegins, to: textBegins + longestRun, end };
  if (meets(text, { ids: prompt, from: at, to: at + soon }, longestRun)) return true;
  const run = Math.min(longestRun, Math.ceil(left / 2));
  const thinking = { ids: known, from, to: from + longestDetour, end: textBegins };
  return !meets(thinking, { ids: prompt, from: at, to: at + longestDetour }, run);
}

interface Stretch {
  readonly ids: readonly number[];
  /** Where a run may begin, both included. */
  readonly from: number;
  readonly to: number;
}

/** Whether a run of the one, up to its end, is in the other. A shorter one counts where no more is left, two ids at least. */
function meets(one: Stretch & { readonly end: number }, other: Stretch, longest: number): boolean {
  for (let a = one.from; a <= one.to; a += 1) {
    const run = Math.min(longest, one.end - a);
    if (run < Math.min(2, longest)) return false;
    for (let b = other.from; b <= other.to; b += 1) {
      if (sameRun({ ids: one.ids, at: a }, { ids: other.ids, at: b }, run)) return true;
    }
  }
  return false;
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
