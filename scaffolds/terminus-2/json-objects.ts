// Finds JSON objects in a reply's text: the first balanced braces, or every object that could be meant.
import { readPythonJson } from './python-json.ts';

/** [start, end) of a span of text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const [quote, backslash, openBrace, closeBrace] = [0x22, 0x5c, 0x7b, 0x7d];

/**
 * The first balanced `{...}` outside double quotes, a backslash skipping one character anywhere; null where there is
 * none. Quotes in the prose before it count, as they do in the reference.
 */
export function firstBalanced(text: string, from = 0): Span | null {
  let start = -1;
  let depth = 0;
  let quoted = false;
  for (let i = from; i < text.length; i += 1) {
    switch (text.charCodeAt(i)) {
      case backslash:
        i += 1;
        break;
      case quote:
        quoted = !quoted;
        break;
      case openBrace:
        if (quoted) break;
        if (depth === 0) start = i;
        depth += 1;
        break;
      case closeBrace:
        if (quoted) break;
        depth -= 1;
        if (depth === 0 && start !== -1) return { start, end: i + 1 };
        break;
    }
  }
  return null;
}

/** An object of JSON, what stands in braces and is none, or braces that never close. */
export type Found =
  | { readonly span: Span; readonly value: Readonly<Record<string, unknown>> }
  | { readonly span: Span; readonly fault: unknown }
  | { readonly span: Span; readonly open: true };

/** What a span that begins with a brace holds: an object, for JSON that begins so is nothing else, or a fault. */
export function readSpan(text: string, span: Span): Found {
  try {
    return { span, value: readPythonJson(text.slice(span.start, span.end)) as Record<string, unknown> };
  } catch (fault) {
    return { span, fault };
  }
}

/** What opens at `start`. */
export function objectAt(text: string, start: number): Found {
  const span = firstBalanced(text, start);
  return span === null ? { span: { start, end: text.length }, open: true } : readSpan(text, span);
}

/** Characters looked at in one reply, over all the braces tried: a bound on the work that a hostile one can make. */
export const mostScanned = 2_000_000;

/**
 * Objects in order, outermost first. One that `meant` says yes to is taken whole; into the others, and into braces
 * that are no JSON, the search goes on.
 */
export function* objectsIn(
  text: string,
  meant: (value: Readonly<Record<string, unknown>>) => boolean,
): Generator<Found> {
  let scanned = 0;
  let at = text.indexOf('{');
  while (at !== -1 && scanned < mostScanned) {
    const found = objectAt(text, at);
    scanned += found.span.end - at;
    yield found;
    at = text.indexOf('{', 'value' in found && meant(found.value) ? found.span.end : at + 1);
  }
}
