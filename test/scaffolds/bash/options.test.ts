// The options of the bash scaffold, and what of them the model is told.
import { describe, expect, it } from 'vitest';
import { InputError } from '../../../domain/errors.ts';
import { parseBashOptions } from '../../../scaffolds/bash/options.ts';
import { offerOf } from '../../../scaffolds/bash/tools.ts';
import { systemPrompt } from '../../../scaffolds/bash/words.ts';

describe('options', () => {
  it('have every default in the result, which parses to itself', () => {
    const options = parseBashOptions({});
    expect(options).toMatchObject({
      finish: 'answer',
      tool_choice: 'auto',
      max_invalid_turns: 3,
      prompt: null,
    });
    expect(parseBashOptions({ ...options })).toEqual(options);
    const own = parseBashOptions({ prompt: { text: 'Do.' }, max_turns: 4 });
    expect(parseBashOptions({ ...own })).toEqual(own);
  });

  it.each<[Readonly<Record<string, unknown>>, string]>([
    [{ max_turn: 3 }, 'unknown option max_turn: do you mean max_turns?'],
    [{ whatever_it_is_called: 3 }, 'unknown option whatever_it_is_called; it has prompt, max_turns'],
    [{ finish: 'never' }, 'option finish'],
    [{ output_limit_bytes: 10 }, 'option output_limit_bytes'],
    [{ tool_choice: 'required' }, 'set finish to submit'],
    [{ command_timeout_sec: 50, max_command_timeout_sec: 40 }, 'above max_command_timeout_sec'],
    [{ prompt: { text: 'Do.', sha256: 'x' } }, 'prompt.sha256'],
  ])('%j is refused in one line', (written, line) => {
    const parse = () => parseBashOptions(written);
    expect(parse).toThrow(InputError);
    expect(parse).toThrow(/^scaffold bash: [^\n]+$/);
    expect(parse).toThrow(line);
  });

  it('say what the model is told: the prompt, how it ends, and the times', () => {
    expect(systemPrompt(parseBashOptions({}))).toContain('no tool call');
    expect(systemPrompt(parseBashOptions({ finish: 'submit' }))).toContain('call the tool submit');
    expect(systemPrompt(parseBashOptions({ prompt: { text: 'Do.' } }))).toBe('Do.');
    const offer = offerOf(parseBashOptions({ command_timeout_sec: 7, max_command_timeout_sec: 70 }));
    expect(JSON.stringify(offer)).toMatch(/7 if left out.*at most 70/);
  });
});
