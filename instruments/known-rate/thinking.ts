// Thinking of a known-rate model: sampled before each reply, kept apart in a chat, and left out of earlier turns by its template.

const open = '<think>\n';
const close = '\n</think>\n\n';

/** What is sampled before the reply to a conversation of so many turns. */
export const thoughtOf = (turns: number): string =>
  `${open}This is turn ${turns + 1}. What the terminal shows says how far I am, and what is to be typed next.${close}`;

/** What a parser keeps apart of the characters of a thought from `from` to `to`. */
export function reasoningPart(thought: string, from: number, to: number): string {
  const end = thought.length - close.length;
  return thought.slice(Math.max(from, open.length), Math.max(0, Math.min(to, end)));
}

/** What a reply said, without its thinking; one that was cut in it said nothing. */
export function withoutThinking(text: string): string {
  if (!text.startsWith(open)) return text;
  const at = text.indexOf(close);
  return at === -1 ? '' : text.slice(at + close.length);
}
