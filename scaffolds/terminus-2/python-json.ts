// Reads JSON as Python's json.loads does: the bare words NaN, Infinity and -Infinity are numbers.

/** A string of JSON, whole, or one of Python's three words outside of strings. */
const token = /"(?:[^"\\]|\\[\s\S])*"|-?\bInfinity\b|\bNaN\b/g;
const mark = '\u0000number:';
const words = new Map([
  [`${mark}NaN`, Number.NaN],
  [`${mark}Infinity`, Number.POSITIVE_INFINITY],
  [`${mark}-Infinity`, Number.NEGATIVE_INFINITY],
]);

/** @throws SyntaxError where the text is no JSON by that reading */
export function readPythonJson(text: string): unknown {
  if (!text.includes('NaN') && !text.includes('Infinity')) return JSON.parse(text) as unknown;
  // No JSON string can hold a raw NUL, so a marked word is never mistaken for a string of the text.
  const marked = text.replace(token, (found) =>
    found.startsWith('"') ? found : JSON.stringify(mark + found),
  );
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === 'string' ? (words.get(value) ?? value) : value,
  ) as unknown;
}

/** What is wrong with a text that is no JSON, in words and a place that a model can use. */
export function explainJsonFault(text: string, error: unknown): string {
  const found = error instanceof Error ? /position (\d+)/.exec(error.message)?.[1] : undefined;
  if (found === undefined) return 'it is not valid JSON';
  const at = Number(found);
  const before = text.slice(0, at).split('\n');
  const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
  const character = text[at];
  if (character === undefined) return `it is not valid JSON: it ends too early, at ${place}`;
  if (character < ' ') {
    return `it is not valid JSON: a raw line break or control character stands at ${place} (inside a string write \\n, \\t)`;
  }
  if (character === "'")
    return `it is not valid JSON: a single quote stands at ${place} (strings take double quotes)`;
  return `it is not valid JSON: unexpected ${JSON.stringify(character)} at ${place}`;
}
