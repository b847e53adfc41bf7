// A command that is written as one string, split as compose splits it: words, quotes and backslashes, and no shell.

/** The words; null where a quote is not closed or a backslash ends the text. */
export function splitWords(text: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote: '"' | "'" | null = null;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at] ?? '';
    const next = text[at + 1];
    if (quote !== null) {
      if (letter === quote) quote = null;
      else if (letter === '\\' && quote === '"' && next !== undefined && '"\\$`\n'.includes(next)) {
        word = (word ?? '') + next;
        at += 1;
      } else word = (word ?? '') + letter;
    } else if (letter === '"' || letter === "'") {
      quote = letter;
      word ??= '';
    } else if (letter === '\\') {
      if (next === undefined) return null;
      word = (word ?? '') + (next === '\n' ? '' : next);
      at += 1;
    } else if (/\s/.test(letter)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + letter;
  }
  if (quote !== null) return null;
  return word === null ? words : [...words, word];
}

const keepAlive =
  /^(?:(?:\/usr)?(?:\/bin\/)?(?:ba|da|a)?sh\s+-l?c\s+)?(?:exec\s+)?(?:sleep\s+(?:infinity|inf|\d{5,}[smhd]?)|tail\s+-f\s+\/dev\/null|(?:ba|da|a)?sh|(?:\/usr)?\/bin\/(?:ba|da|a)?sh|while (?:true|:);? ?do sleep \d+;? ?done)$/;

/** Whether a command does nothing but keep a container there for the agent. */
export function onlyWaits(argv: readonly string[]): boolean {
  return keepAlive.test(argv.join(' ').trim());
}
