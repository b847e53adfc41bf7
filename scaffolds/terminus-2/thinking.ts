// Sets a reply's thinking aside: <think> blocks outside of what is a reply, and all that a lone </think> ends.
import { mostScanned, objectAt } from './json-objects.ts';

const open = '<think>';
const close = '</think>';

/** What a reply is made of, in which tags are text: where it may begin, and where one that begins there ends. */
export interface ReplyShape {
  /** What it begins with, as the source of a pattern. */
  readonly mark: string;
  readonly endOf: (text: string, start: number) => { readonly whole: boolean; readonly end: number };
}

export const jsonShape: ReplyShape = {
  mark: '\\{',
  endOf: (text, start) => {
    const found = objectAt(text, start);
    return { whole: 'value' in found, end: found.span.end };
  },
};

export const xmlShape: ReplyShape = {
  mark: '<response>',
  endOf: (text, start) => {
    const at = text.indexOf('</response>', start);
    return { whole: at !== -1, end: at === -1 ? text.length : at + '</response>'.length };
  },
};

/**
 * The text without what stands between <think> and </think>. A server whose template opens the block itself sends
 * </think> alone: then everything before it is thinking. Tags inside a whole reply are text.
 */
export function setThinkingAside(text: string, shape: ReplyShape): string {
  const lastClose = text.lastIndexOf(close);
  if (lastClose === -1) return text;
  const marks = new RegExp(`${shape.mark}|${open}|${close}`, 'g');
  let kept = '';
  let from = 0;
  let scanned = 0;
  for (let found = marks.exec(text); found !== null; found = marks.exec(text)) {
    const at = found.index;
    if (found[0] === close) {
      kept = '';
      from = at + close.length;
    } else if (found[0] !== open) {
      if (scanned > mostScanned) continue;
      const { whole, end } = shape.endOf(text, at);
      scanned += end - at;
      if (whole) marks.lastIndex = end;
    } else if (at < lastClose) {
      kept += text.slice(from, at);
      from = text.indexOf(close, at) + close.length;
      marks.lastIndex = from;
    }
  }
  return kept + text.slice(from);
}
