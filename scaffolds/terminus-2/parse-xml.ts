// Reads an XML reply into commands, or into the error that the model is told: tags as text, nothing decoded. Pure.
import {
  checkDuration,
  checkLength,
  replyOf,
  usualDuration,
  warnUnended,
  type DurationRule,
  type ParsedReply,
  type ReplyCommand,
} from './commands.ts';
import { mostScanned } from './json-objects.ts';
import type { ParseRules } from './parse-reply.ts';
import { setThinkingAside, xmlShape } from './thinking.ts';

const open = '<response>';
const close = '</response>';
const sections = ['analysis', 'plan', 'commands'] as const;
const saysComplete = /<task_complete>\s*true\s*<\/task_complete>/i;
const entity = /&(?:lt|gt|amp|quot|apos|#\d+|#x[\da-f]+);/i;

/** A number as Python's float() reads it. */
const pythonFloat = /^[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?$/i;

function readFloat(written: string): number | null {
  const text = written.trim().toLowerCase();
  if (pythonFloat.test(text)) return Number(text.replaceAll('_', ''));
  if (/^[+-]?nan$/.test(text)) return Number.NaN;
  const infinite = /^([+-]?)inf(?:inity)?$/.exec(text);
  if (infinite === null) return null;
  return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

/** The text of the first section of that name; null where it is not there, or never closed. */
function sectionOf(name: (typeof sections)[number], body: string): string | null {
  const start = body.indexOf(`<${name}>`);
  if (start === -1) return body.includes(`<${name}/>`) ? '' : null;
  const from = start + name.length + 2;
  const end = body.indexOf(`</${name}>`, from);
  return end === -1 ? null : body.slice(from, end);
}

function readDuration(
  attributes: string,
  where: string,
  rule: DurationRule,
  warnings: string[],
): number | { readonly error: string } {
  const quoted = /(?:^|\s)duration\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(attributes);
  const written = quoted?.[1] ?? quoted?.[2];
  if (written === undefined) {
    const why = /(?:^|\s)duration\s*=/.test(attributes)
      ? 'needs quotes around its duration'
      : 'has no duration';
    return usualDuration(`${where} ${why}`, warnings);
  }
  const value = readFloat(written);
  return value === null
    ? usualDuration(`${where}: "duration" is no number`, warnings)
    : checkDuration(value, where, rule);
}

interface Element {
  readonly attributes: string;
  readonly keystrokes: string;
}

/** The <keystrokes> of a text, verbatim, and what stands beside them. */
function splitKeystrokes(text: string): { readonly elements: readonly Element[]; readonly beside: string } {
  const elements: Element[] = [];
  const opening = /<keystrokes(?=[\s>])/g;
  let beside = '';
  let from = 0;
  for (let found = opening.exec(text); found !== null; found = opening.exec(text)) {
    const name = opening.lastIndex;
    const tagEnd = text.indexOf('>', name);
    const end = tagEnd === -1 ? -1 : text.indexOf('</keystrokes>', tagEnd);
    if (end === -1) break;
    elements.push({ attributes: text.slice(name, tagEnd), keystrokes: text.slice(tagEnd + 1, end) });
    beside += text.slice(from, found.index);
    from = end + '</keystrokes>'.length;
    opening.lastIndex = from;
  }
  return { elements, beside: beside + text.slice(from) };
}

function readCommands(
  text: string,
  rule: DurationRule,
  warnings: string[],
): readonly ReplyCommand[] | { readonly error: string } {
  const { elements, beside } = splitKeystrokes(text);
  if (/<keystrokes[\s>]/.test(beside)) return { error: 'a <keystrokes> is never closed' };
  if (beside.trim() !== '')
    warnings.push('<commands> holds something else than <keystrokes>: it is not typed');
  const commands: ReplyCommand[] = [];
  for (const [index, { attributes, keystrokes }] of elements.entries()) {
    const where = `command ${index + 1}`;
    const durationSec = readDuration(attributes, where, rule, warnings);
    if (typeof durationSec !== 'number') return durationSec;
    const others = attributes.replace(/\bduration\s*=\s*(?:"[^"]*"|'[^']*'|\S+)/, '').trim();
    if (others !== '') warnings.push(`${where} has unknown attributes: ${others}`);
    if (entity.test(keystrokes))
      warnings.push(`${where}: entities are typed as they stand: write < > & as such`);
    warnUnended(where, keystrokes, index === elements.length - 1, warnings);
    commands.push({ keystrokes, durationSec });
  }
  return checkLength(commands) ?? commands;
}

/** Whether the reply says that the task is done. */
function isComplete(body: string, rules: ParseRules): boolean {
  if (rules.completeTag === 'anywhere') return saysComplete.test(body);
  return saysComplete.test(splitKeystrokes(body).beside);
}

/** Checks the inside of one <response>. Of a complete one, faults of its commands become warnings. */
function checkBody(body: string, rules: ParseRules, warned: readonly string[]): ParsedReply {
  const warnings = [...warned];
  const complete = isComplete(body, rules);
  const [analysis, plan, list] = sections.map((name) => sectionOf(name, body));
  if (analysis === null) warnings.push('<analysis> is missing');
  if (plan === null) warnings.push('<plan> is missing');
  const places = sections.map((name) => body.indexOf(`<${name}`)).filter((at) => at !== -1);
  if (places.some((at, index) => at < (places[index - 1] ?? -1))) {
    warnings.push(`the sections should come in this order: ${sections.join(', ')}`);
  }
  if (typeof list !== 'string' && !complete) {
    return { ok: false, error: 'the reply lacks <commands>, or never closes it', warnings };
  }
  if (list?.trim() === '' && !complete) {
    warnings.push('<commands> is empty: nothing was typed. To wait, send empty keystrokes with a duration');
  }
  const commands = readCommands(list ?? '', rules.durations, warnings);
  return replyOf({
    commands,
    complete,
    analysis: (analysis ?? '').trim(),
    plan: (plan ?? '').trim(),
    warnings,
  });
}

/** The reply that opens at `start`, to its end or to the end of the text. */
function checkAt(text: string, start: number, rules: ParseRules): ParsedReply {
  const from = start + open.length;
  const found = text.indexOf(close, from);
  const warnings: string[] = [];
  if (text.slice(0, start).trim() !== '') warnings.push(`there is text before ${open}`);
  if (found === -1) warnings.push(`${close} is missing`);
  else if (text.slice(found + close.length).trim() !== '') warnings.push(`there is text after ${close}`);
  return checkBody(text.slice(from, found === -1 ? text.length : found), rules, warnings);
}

const nothingIn: ParsedReply = { ok: false, error: `no ${open} was found in the reply`, warnings: [] };

const readable = (reply: string, rules: ParseRules): string =>
  rules.thinkBlocks === 'set-aside' ? setThinkingAside(reply, xmlShape) : reply;

/** Reads an XML reply: the first <response>, or under `validating` the first that is a whole reply. */
export const parseXmlReply = (reply: string, rules: ParseRules): ParsedReply =>
  parseText(readable(reply, rules), rules);

function parseText(text: string, rules: ParseRules): ParsedReply {
  let first: ParsedReply | null = null;
  let scanned = 0;
  for (let at = text.indexOf(open); at !== -1 && scanned < mostScanned; at = text.indexOf(open, at + 1)) {
    const parsed = checkAt(text, at, rules);
    if (parsed.ok || rules.objectChoice === 'first') return parsed;
    first ??= parsed;
    scanned += text.length - at;
  }
  return first ?? nothingIn;
}

/** Whether a reply that was cut by its length holds a whole <response> all the same. */
export function holdsWholeXml(reply: string, rules: ParseRules): boolean {
  const text = readable(reply, rules);
  return text.includes(close) && parseText(text, rules).ok;
}
