// Options of Terminus-2: defaults, the reference's names, and one clear line for whatever is wrong.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../../domain/errors.ts';
import { parseTerminus2Options } from '../../../scaffolds/terminus-2/options.ts';
import { firstMessage } from '../../../scaffolds/terminus-2/prompt.ts';
import { jsonForm, xmlForm } from '../../../scaffolds/terminus-2/reply-form.ts';

const prompt = 'Do {instruction} at\n{terminal_state}';

describe('options', () => {
  it('have every default written out, so that they are part of the identity', () => {
    expect(parseTerminus2Options({})).toStrictEqual({
      parser_name: 'json',
      max_turns: 1_000_000,
      interleaved_thinking: false,
      tmux_pane_width: 160,
      tmux_pane_height: 40,
      enable_summarize: true,
      proactive_summarization_threshold: 8_000,
      trajectory_config: { raw_content: false, linear_history: false },
      prompt: null,
      compacted_history: 'separate',
      compat: 'none',
      think_blocks: 'set-aside',
      object_choice: 'validating',
      complete_tag: 'own',
      durations: 'checked',
      context_margins: 'scaled',
      max_length_reasks: 3,
    });
  });

  it("under compat strict are the reference's, but for those that are set", () => {
    expect(parseTerminus2Options({ compat: 'strict', max_length_reasks: 5 })).toMatchObject({
      think_blocks: 'keep',
      object_choice: 'first',
      complete_tag: 'anywhere',
      durations: 'reference',
      context_margins: 'reference',
      max_length_reasks: 5,
    });
  });

  it('parse to themselves', () => {
    for (const written of [
      {},
      { compat: 'strict' },
      { parser_name: 'xml', trajectory_config: { linear_history: true } },
      { max_turns: 7, prompt: { text: prompt } },
    ]) {
      const parsed = parseTerminus2Options(written);
      expect(parseTerminus2Options({ ...parsed })).toStrictEqual(parsed);
    }
  });

  it.each([
    [{ max_turn: 5 }, /unknown option max_turn: do you mean max_turns\?$/],
    [{ colour: 5 }, /unknown option colour; it has parser_name, /],
    [{ parser_name: 'yaml' }, /option parser_name: /],
    [{ parser: 'xml' }, /no option parser here: it is parser_name$/],
    [{ trajectory_config: { raw: true } }, /option trajectory_config: Unrecognized key: "raw"$/],
    [{ proactive_summarization_threshold: -1 }, /option proactive_summarization_threshold: /],
    [{ temperature: 1 }, /no option temperature here: set it in the sampling of the model$/],
    [{ max_turns: 0 }, /option max_turns: /],
    [{ tmux_pane_width: '160' }, /option tmux_pane_width: /],
    [{ prompt: { text: 'no place' } }, /the prompt template lacks \{instruction\}/],
    [{ prompt: { text: prompt, sha256: 'other' } }, /prompt\.sha256 is other, but the text's is /],
  ])('%j are refused with one line', (written, message) => {
    const parse = (): unknown => parseTerminus2Options(written);
    expect(parse).toThrow(InputError);
    expect(parse).toThrow(message);
    expect(parse).toThrow(/^scaffold terminus-2: [^\n]+$/);
  });
});

describe('the prompt', () => {
  it("takes a template of the user's, and its digest is among the options", () => {
    const options = parseTerminus2Options({ prompt: { text: prompt } });
    expect(options.prompt?.sha256).toBe(createHash('sha256').update(prompt).digest('hex'));
    expect(firstMessage(options, jsonForm, 'X', 'Y')).toBe('Do X at\nY');
  });

  it('fills each place once: a task that holds a place name, or a dollar sign, stays as it is', () => {
    const options = parseTerminus2Options({ prompt: { text: prompt } });
    expect(firstMessage(options, jsonForm, '{terminal_state} $& $1', 'Y')).toBe(
      'Do {terminal_state} $& $1 at\nY',
    );
  });

  it.each([
    [
      'JSON',
      jsonForm,
      ['"analysis"', '"plan"', '"commands"', '"keystrokes"', '"duration"', '"task_complete"'],
    ],
    [
      'XML',
      xmlForm,
      ['<response>', '<analysis>', '<plan>', '<commands>', '<keystrokes duration="0.1">', '<task_complete>'],
    ],
  ])("of our own for %s holds both places and the contract's keys", (_name, { template }, keys) => {
    for (const part of [...keys, '{instruction}', '{terminal_state}', 'C-c', '60']) {
      expect(template).toContain(part);
    }
  });
});
