// What each reply of the corpus does, by our rules and by the reference's.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseReply, type ParseRules } from '../../../scaffolds/terminus-2/parse-reply.ts';
import type { ParsedReply } from '../../../scaffolds/terminus-2/commands.ts';
import { holdsWholeXml, parseXmlReply } from '../../../scaffolds/terminus-2/parse-xml.ts';
import { replies, type Expected } from './replies.ts';
import { xmlReplies } from './xml-replies.ts';

const ours: ParseRules = {
  thinkBlocks: 'set-aside',
  objectChoice: 'validating',
  durations: 'checked',
  completeTag: 'own',
};
const strict: ParseRules = {
  thinkBlocks: 'keep',
  objectChoice: 'first',
  durations: 'reference',
  completeTag: 'anywhere',
};

const runOf = (parsed: ParsedReply): string =>
  parsed.ok
    ? parsed.commands.map(({ keystrokes, durationSec }) => `${keystrokes}@${durationSec}`).join('|') +
      (parsed.complete ? '!' : '')
    : `error: ${parsed.error}`;

function check(parsed: ParsedReply, expected: Expected): void {
  if ('error' in expected) {
    expect(parsed.ok ? runOf(parsed) : parsed.error).toContain(expected.error);
    expect(parsed.ok).toBe(false);
    return;
  }
  expect(runOf(parsed)).toBe(expected.run);
  const warnings = parsed.warnings.join('\n');
  if (expected.warns === undefined) expect(warnings).toBe('');
  else expect(warnings).toContain(expected.warns);
}

describe('C59 C60 a JSON reply with', () => {
  it.each(replies)('$name does what it must', ({ reply, ours: expected }) => {
    check(parseReply(reply, ours), expected);
  });

  it.each(replies)(
    '$name does under strict what the reference does',
    ({ reply, ours: same, strict: other }) => {
      check(parseReply(reply, strict), other ?? same);
    },
  );
});

describe('C59 an XML reply with', () => {
  it.each(xmlReplies)('$name does what it must', ({ reply, ours: expected }) => {
    check(parseXmlReply(reply, ours), expected);
  });

  it.each(xmlReplies)(
    '$name does under strict what the reference does',
    ({ reply, ours: same, strict: other }) => {
      check(parseXmlReply(reply, strict), other ?? same);
    },
  );
});

describe('the corpus', () => {
  it('holds at least 60 replies, each under a name of its own in its protocol', () => {
    expect(replies.length + xmlReplies.length).toBeGreaterThanOrEqual(60);
    for (const corpus of [replies, xmlReplies]) {
      expect(new Set(corpus.map(({ name }) => name)).size).toBe(corpus.length);
    }
  });
});

describe('an XML reply that was cut by its length', () => {
  const whole =
    '<response><analysis>a</analysis><plan>p</plan><commands><keystrokes duration="1">ls\n</keystrokes></commands></response>';

  it('is taken where a whole <response> is in it, and only there', () => {
    expect(holdsWholeXml(`${whole}\nNow I`, ours)).toBe(true);
    expect(holdsWholeXml(whole.slice(0, -1), ours)).toBe(false);
    expect(holdsWholeXml('<response><analysis>a</analysis></response> and', ours)).toBe(false);
    expect(holdsWholeXml(`<think>${whole}</think>Now`, ours)).toBe(false);
  });
});

describe('parsing', () => {
  const command = fc.record({
    keystrokes: fc.string({ unit: 'binary' }),
    duration: fc.double({ min: 0, max: 60, noNaN: true }),
  });
  const object = fc.record({
    analysis: fc.string(),
    plan: fc.string(),
    commands: fc.array(command),
    task_complete: fc.boolean(),
  });

  it('gives back every command of a whole object, whatever is in its strings and however it is fenced', () => {
    fc.assert(
      fc.property(
        object,
        fc.constantFrom('', 'Here: ', '```json\n', '<think>{"</think>'),
        (value, prefix) => {
          const parsed = parseReply(prefix + JSON.stringify(value), ours);
          expect(parsed).toMatchObject({
            ok: true,
            complete: value.task_complete,
            commands: value.commands.map(({ keystrokes, duration }) => ({
              keystrokes,
              durationSec: Math.max(0, duration),
            })),
          });
        },
      ),
    );
  });

  it('never throws, and says in words what was wrong with any other text', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom(
            '{',
            '}',
            '"',
            '\\',
            '<think>',
            '</think>',
            '"analysis":',
            '[',
            ',',
            'NaN',
            '<response>',
            '</response>',
            '<commands>',
            '</commands>',
            '<keystrokes duration="1">',
            '</keystrokes>',
            ' ',
            '\n',
          ),
        }),
        (text) => {
          for (const rules of [ours, strict]) {
            for (const parse of [parseReply, parseXmlReply]) {
              const parsed = parse(text, rules);
              if (!parsed.ok) expect(parsed.error).not.toBe('');
            }
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('reads a hostile reply of braces in bounded time', () => {
    const started = performance.now();
    for (const text of [
      '{'.repeat(200_000),
      '{"'.repeat(100_000),
      `${'{a}'.repeat(60_000)}</think>`,
      '<think>'.repeat(30_000),
    ]) {
      expect(parseReply(text, ours).ok).toBe(false);
    }
    for (const text of [
      '<response>'.repeat(20_000),
      `<response><commands></keystrokes>${'<keystrokes '.repeat(20_000)}`,
      `<response><commands></keystrokes>${'<keystrokes>'.repeat(20_000)}</commands></response>`,
      `</think>${'<think>'.repeat(30_000)}`,
    ]) {
      expect(parseXmlReply(text, ours).ok).toBe(false);
    }
    expect(performance.now() - started).toBeLessThan(15_000);
  });
});
