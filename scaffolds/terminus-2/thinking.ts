// Sets a reply's thinking aside: <think> blocks outside of JSON, and all that a lone </think> ends.
import { mostScanned, objectAt } from './json-objects.ts';

const open = '<think>';
const close = '</think>';

/**
 * The text without what stands between <think> and </think>. A server whose template opens the block itself sends
 * </think> alone: then everything before it is thinking. Tags inside a JSON object's strings are text.
 */
export function setThinkingAside(text: string): string {
  if (!text.includes(close)) return text;
  const mark = /\{|<think>|<\/think>/g;
  let kept = '';
  let from = 0;
  let scanned = 0;
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    const at = found.index;
    if (found[0] === '{') {
      if (scanned > mostScanned) continue;
      const object = objectAt(text, at);
      scanned += object.span.end - at;
      if ('value' in object) mark.lastIndex = object.span.end;
    } else if (found[0] === open) {
      const end = text.indexOf(close, at);
      if (end === -1) continue;
      kept += text.slice(from, at);
      from = end + close.length;
      mark.lastIndex = from;
    } else {
      kept = '';
      from = at + close.length;
    }
  }
  return kept + text.slice(from);
}
