// Reads a JSON reply into commands, or into the error that the model is told. Pure.
import type { DurationRule, ParsedReply } from './commands.ts';
import { firstBalanced, objectsIn, readSpan, type Found, type Span } from './json-objects.ts';
import { explainJsonFault } from './python-json.ts';
import { checkReplyObject, replyKeys } from './reply-object.ts';
import { jsonShape, setThinkingAside } from './thinking.ts';

export interface ParseRules {
  readonly thinkBlocks: 'set-aside' | 'keep';
  /** `validating`: the first object that validates; `first`: the first balanced braces, whatever they hold. */
  readonly objectChoice: 'validating' | 'first';
  readonly durations: DurationRule;
  /** XML: where <task_complete>true</task_complete> counts; `anywhere`: inside of keystrokes, too. */
  readonly completeTag: 'own' | 'anywhere';
}

const neverCloses = 'no complete JSON object was found in the reply: are all its braces and quotes closed?';

const nothingIn = (text: string): ParsedReply => ({
  ok: false,
  error: text.includes('{') ? neverCloses : 'no JSON object was found in the reply',
  warnings: [],
});

const braceAdded = 'a closing brace was missing and has been added: send complete JSON';
const takenFromProse = 'the JSON object had to be picked out of other text: send the object alone';

/** What stands around the object only deserves a warning. */
function warnAround(text: string, span: Span): string[] {
  const warnings: string[] = [];
  if (text.slice(0, span.start).trim() !== '') warnings.push('there is text before the JSON object');
  if (text.slice(span.end).trim() !== '') warnings.push('there is text after the JSON object');
  return warnings;
}

/** Whether an object is an attempt at a reply, and not something that the prose quotes. */
const isAttempt = (value: Readonly<Record<string, unknown>>): boolean =>
  replyKeys.some((key) => Object.hasOwn(value, key));

/** Checks what was found in a text: only an object can be a reply. */
function check(text: string, found: Found, rules: ParseRules): ParsedReply {
  const { span } = found;
  if ('open' in found) return { ok: false, error: neverCloses, warnings: [] };
  const warnings = warnAround(text, span);
  if ('value' in found) return checkReplyObject(found.value, rules.durations, warnings);
  return { ok: false, error: explainJsonFault(text.slice(span.start, span.end), found.fault), warnings };
}

function takeFirst(text: string, rules: ParseRules): ParsedReply {
  const span = firstBalanced(text);
  return span === null ? nothingIn(text) : check(text, readSpan(text, span), rules);
}

function takeValidating(text: string, rules: ParseRules): ParsedReply {
  let attempt: ParsedReply | null = null;
  let other: { readonly length: number; readonly parsed: ParsedReply } | null = null;
  for (const found of objectsIn(text, isAttempt)) {
    const parsed = check(text, found, rules);
    if (parsed.ok) return parsed;
    if ('value' in found && isAttempt(found.value)) attempt ??= parsed;
    // Of what is no attempt the longest was meant: short braces stand in prose, or inside the longest.
    const length = found.span.end - found.span.start;
    if (other === null || other.length < length) other = { length, parsed };
  }
  return attempt ?? other?.parsed ?? nothingIn(text);
}

const take = (text: string, rules: ParseRules): ParsedReply =>
  rules.objectChoice === 'first' ? takeFirst(text, rules) : takeValidating(text, rules);

function addBraces(text: string): string | null {
  const missing = text.split('{').length - text.split('}').length;
  return missing > 0 ? text + '}'.repeat(missing) : null;
}

/** The first `{...}` of at most two levels that is JSON, by pattern and not by quotes. */
function pickShallow(text: string): string | null {
  for (const [match] of text.matchAll(/\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}/g)) {
    if ('value' in readSpan(match, { start: 0, end: match.length })) return match;
  }
  return null;
}

/**
 * Reads a reply. Where it fails, two repairs are tried in order, and taken only where what they give validates whole:
 * missing closing braces at the end, then the first shallow object in the text.
 */
export function parseReply(reply: string, rules: ParseRules): ParsedReply {
  const text = rules.thinkBlocks === 'set-aside' ? setThinkingAside(reply, jsonShape) : reply;
  const parsed = take(text, rules);
  if (parsed.ok) return parsed;
  const repairs = [
    { repaired: addBraces(text), warning: braceAdded },
    { repaired: pickShallow(text), warning: takenFromProse },
  ];
  for (const { repaired, warning } of repairs) {
    const again = repaired === null ? null : take(repaired, rules);
    if (again?.ok === true) return { ...again, warnings: [warning, ...again.warnings] };
  }
  return parsed;
}
