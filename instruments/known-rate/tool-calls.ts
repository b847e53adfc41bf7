// Native tool calls of a known-rate model: how it samples them as text, and what of them a part of that text is.
import { createHash } from 'node:crypto';

export interface SpokenCall {
  readonly name: string;
  /** As written: not always JSON. */
  readonly arguments: string;
}

/** One reply: its words, then its calls. */
export interface Spoken {
  readonly content: string;
  readonly calls: readonly SpokenCall[];
}

const opening = ({ name }: SpokenCall): string =>
  `<tool_call>{"name": ${JSON.stringify(name)}, "arguments": `;
const closing = '}</tool_call>';

/** The text that a server's parser makes a reply of, and that its template makes of one that it is handed back. */
export const textOf = ({ content, calls }: Spoken): string =>
  content + calls.map((call) => opening(call) + call.arguments + closing).join('');

export interface WireCall {
  readonly index: number;
  readonly id?: string;
  readonly type?: 'function';
  readonly function: { readonly name?: string; readonly arguments: string };
}

/** What a parser gives of the characters from `from` to `to`: words, beginnings of calls, pieces of their arguments. */
export function partOf(
  spoken: Spoken,
  { from, to, name }: { readonly from: number; readonly to: number; readonly name: string },
): { readonly content: string; readonly calls: readonly WireCall[] } {
  let at = spoken.content.length;
  const calls: WireCall[] = [];
  spoken.calls.forEach((call, index) => {
    const start = at + opening(call).length;
    at = start + call.arguments.length + closing.length;
    const begins = from < start && start <= to;
    const piece = call.arguments.slice(Math.max(0, from - start), Math.max(0, to - start));
    if (begins) {
      const digest = createHash('sha256').update(`${name}/${index}`).digest('hex').slice(0, 32);
      const id = `chatcmpl-tool-${digest}`;
      calls.push({ index, id, type: 'function', function: { name: call.name, arguments: piece } });
    } else if (piece !== '') calls.push({ index, function: { arguments: piece } });
  });
  return { content: spoken.content.slice(from, to), calls };
}
