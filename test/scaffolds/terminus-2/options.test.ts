// Options of Terminus-2: defaults, the reference's names, and one clear line for whatever is wrong.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../../domain/errors.ts';
import { parseTerminus2Options } from '../../../scaffolds/terminus-2/options.ts';
import { builtInTemplate, firstMessage } from '../../../scaffolds/terminus-2/prompt.ts';

const prompt = 'Do {instruction} at\n{terminal_state}';

describe('options', () => {
  it('have every default written out, so that they are part of the identity', () => {
    expect(parseTerminus2Options({})).toStrictEqual({
      parser_name: 'json',
      max_turns: 1_000_000,
      interleaved_thinking: false,
      tmux_pane_width: 160,
      tmux_pane_height: 40,
      enable_summarize: false,
      prompt: null,
      compat: 'none',
      think_blocks: 'set-aside',
      object_choice: 'validating',
      durations: 'checked',
      max_length_reasks: 3,
    });
  });

  it("under compat strict are the reference's, but for those that are set", () => {
    expect(parseTerminus2Options({ compat: 'strict', max_length_reasks: 5 })).toMatchObject({
      think_blocks: 'keep',
      object_choice: 'first',
      durations: 'reference',
      max_length_reasks: 5,
    });
  });

  it('parse to themselves', () => {
    for (const written of [{}, { compat: 'strict' }, { max_turns: 7, prompt: { text: prompt } }]) {
      const parsed = parseTerminus2Options(written);
      expect(parseTerminus2Options({ ...parsed })).toStrictEqual(parsed);
    }
  });

  it.each([
    [{ max_turn: 5 }, /unknown option max_turn: do you mean max_turns\?$/],
    [{ colour: 5 }, /unknown option colour; it has parser_name, /],
    [{ parser_name: 'xml' }, /option parser_name: only the parser json is supported$/],
    [{ enable_summarize: true }, /option enable_summarize: a summary at the context limit is not supported/],
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
    expect(firstMessage(options, 'X', 'Y')).toBe('Do X at\nY');
  });

  it('fills each place once: a task that holds a place name, or a dollar sign, stays as it is', () => {
    const options = parseTerminus2Options({ prompt: { text: prompt } });
    expect(firstMessage(options, '{terminal_state} $& $1', 'Y')).toBe('Do {terminal_state} $& $1 at\nY');
  });

  it("of our own holds both places and the contract's keys", () => {
    for (const part of [
      '{instruction}',
      '{terminal_state}',
      '"analysis"',
      '"plan"',
      '"commands"',
      '"keystrokes"',
      '"duration"',
      '"task_complete"',
      'C-c',
      '60',
    ]) {
      expect(builtInTemplate).toContain(part);
    }
  });
});
