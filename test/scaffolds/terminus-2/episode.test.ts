// The turns of Terminus-2 over scripted ports.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Answer, EpisodeEnd, Observation } from '../../../domain/ports.ts';
import { terminus2 } from '../../../scaffolds/terminus-2/index.ts';
import { answer, scripted, shows, types, type Fake, type Script } from '../fakes.ts';

const run = async (
  script: Script,
  options: Readonly<Record<string, unknown>> = {},
): Promise<Fake & { end: EpisodeEnd }> => {
  const fake = scripted(script);
  const parsed = terminus2.parseOptions(options);
  const end = await terminus2.episode(
    { instruction: 'Make it so.', solutionEnv: {}, options: parsed },
    fake.tools,
  );
  return Object.assign(fake, { end });
};
const lastOf = (fake: Fake, call: number): string => fake.asked[call]?.at(-1)?.content ?? '';

const done = types([], true);
const overflow: Answer = { kind: 'overflow', message: 'maximum context length is 4096 tokens' };
const gone: Observation = { alive: false, fresh: null, screen: 'bye' };

describe('an episode', () => {
  it('asks with the task and the screen, types, shows what is new, and ends when completion is confirmed', async () => {
    const fake = await run({
      answers: [types(['ls\n', 'C-c']), done, done],
      observations: [{ alive: true, fresh: null, screen: '$ ' }, 'a b c', 'quiet', 'quiet'],
    });
    expect(fake.end).toStrictEqual({ ending: 'completed', detail: null });
    expect(lastOf(fake, 0)).toContain('Make it so.');
    expect(lastOf(fake, 0)).toContain('Current Terminal Screen:\n$ ');
    expect(fake.acted).toStrictEqual([
      [],
      [
        { keystrokes: 'ls\n', durationMs: 100 },
        { keystrokes: 'C-c', durationMs: 100 },
      ],
      [],
      [],
    ]);
    expect(lastOf(fake, 1)).toBe('New Terminal Output:\na b c');
    expect(lastOf(fake, 2)).toMatch(/Are you sure\?/);
    expect(lastOf(fake, 2)).toContain('New Terminal Output:\nquiet');
  });

  it('keeps the chat in strict turns of user and assistant, with raw replies and no reasoning', async () => {
    const fake = await run({ answers: [answer(types(['ls\n']), { reasoning: 'hm' }), 'oops', done, done] });
    expect(fake.kept.map(({ role }) => role).join()).toBe(
      'user,assistant,user,assistant,user,assistant,user,assistant',
    );
    expect(fake.kept[3]).toStrictEqual({ role: 'assistant', content: 'oops' });
    expect(JSON.stringify(fake.kept)).not.toContain('hm');
  });

  it('hands reasoning back under interleaved_thinking', async () => {
    const fake = await run(
      { answers: [answer(types(['ls\n']), { reasoning: 'hm' }), done, done] },
      { interleaved_thinking: true },
    );
    expect(fake.asked[1]?.[1]).toMatchObject({ role: 'assistant', reasoning: 'hm' });
  });

  it('shows the screen where the new output is blank', async () => {
    const blank: Observation = { alive: true, fresh: ' \n', screen: 'the screen' };
    const fake = await run({ answers: [types([]), done, done], observations: ['x', blank] });
    expect(lastOf(fake, 1)).toBe('Current Terminal Screen:\nthe screen');
  });

  it('shows at most 10,000 bytes, halves of both ends, though the terminal did not bound them', async () => {
    const fake = await run({
      answers: [types([]), done, done],
      observations: ['x', `${'é'.repeat(20_000)}end`],
    });
    const shown = lastOf(fake, 1);
    expect(Buffer.byteLength(shown)).toBeLessThan(10_300);
    expect(shown).toMatch(/limited to 10000 bytes: 30004 bytes in the middle are left out/);
    expect(shown.endsWith('end')).toBe(true);
    expect(shown).not.toContain('\ufffd');
  });

  it('leaves alone what the terminal has bounded, with its line between', async () => {
    const bounded = `${'a'.repeat(5_000)}\n[... output limited to 10000 bytes; 999 bytes omitted ...]\n${'b'.repeat(5_000)}`;
    const fake = await run({ answers: [types([]), done, done], observations: ['x', bounded] });
    expect(lastOf(fake, 1)).toBe(`New Terminal Output:\n${bounded}`);
  });
});

describe('completion', () => {
  it('runs the commands that came with it, the first and the second time', async () => {
    const fake = await run({ answers: [types(['one\n'], true), types(['two\n'], true)] });
    expect(fake.acted.slice(1).map((actions) => actions[0]?.keystrokes)).toStrictEqual(['one\n', 'two\n']);
    expect(fake.end.ending).toBe('completed');
  });

  it('is taken back by a reply that does not say it again', async () => {
    const fake = await run({ answers: [done, types(['ls\n']), done, done] });
    expect(fake.asked).toHaveLength(4);
  });

  it('stays pending over a reply that could not be read', async () => {
    const fake = await run({ answers: [done, 'oops', done] });
    expect(fake.end.ending).toBe('completed');
    expect(fake.acted).toHaveLength(3);
  });

  it('is confirmed though its last commands end the terminal', async () => {
    const fake = await run({ answers: [done, types(['exit\n'], true)], observations: ['x', 'y', gone] });
    expect(fake.end.ending).toBe('completed');
  });

  it('is asked about without the warnings of its reply', async () => {
    const fake = await run({ answers: [`Note. ${done}`, done] });
    expect(lastOf(fake, 1)).not.toContain('WARNINGS');
  });
});

describe('a reply that could not be read', () => {
  it('C59 runs nothing, counts as a turn, and is answered with the error and the warnings', async () => {
    const fake = await run({ answers: ['Well: {"analysis": "a"}', done] }, { max_turns: 2 });
    expect(lastOf(fake, 1)).toMatch(
      /ERROR: the object lacks required keys: plan, commands\nWARNINGS:\n- there is text before/,
    );
    expect(fake.acted).toHaveLength(2);
    expect(fake.end).toStrictEqual({ ending: 'turn-limit', detail: '2 turns' });
  });

  it('that was read with warnings has them before the next observation', async () => {
    const fake = await run({ answers: [`Now ${types(['ls\n'])}`, done, done], observations: ['x', 'out'] });
    expect(lastOf(fake, 1)).toBe(
      'WARNINGS about your last reply:\n- there is text before the JSON object\n\nNew Terminal Output:\nout',
    );
  });
});

describe('an episode ends', () => {
  it('as turn-limit after max_turns turns', async () => {
    const fake = await run({ answers: Array.from({ length: 3 }, () => types(['x\n'])) }, { max_turns: 3 });
    expect(fake.end.ending).toBe('turn-limit');
    expect(fake.acted).toHaveLength(4);
  });

  it("C64 as out-of-context where the prompt overflows and nothing may be summarised, with the server's words", async () => {
    const fake = await run({ answers: [types(['x\n']), overflow] }, { enable_summarize: false });
    expect(fake.end).toStrictEqual({ ending: 'out-of-context', detail: overflow.message });
  });

  it('as out-of-output after three re-asks in a row, all of them in the chat', async () => {
    const cut = answer('{"analysis": "too lo', { finishReason: 'length' });
    const fake = await run({ answers: [types(['x\n']), cut, cut, cut, cut] });
    expect(fake.end.ending).toBe('out-of-output');
    expect(fake.asked).toHaveLength(5);
    expect(fake.acted).toHaveLength(2);
    expect(lastOf(fake, 4)).toMatch(/longer than one reply may be/);
  });

  it('as nothing of that kind where a re-ask is answered: the count starts anew', async () => {
    const cut = answer('x', { finishReason: 'length' });
    const fake = await run({ answers: [cut, cut, cut, types(['x\n']), cut, cut, cut, done, done] });
    expect(fake.end.ending).toBe('completed');
  });

  it('as terminal-lost once the session is gone, without asking again', async () => {
    const fake = await run({ answers: [types(['exit\n'])], observations: ['x', gone] });
    expect(fake.end.ending).toBe('terminal-lost');
    expect((await run({ observations: [gone] })).end.ending).toBe('terminal-lost');
  });

  it('never by length under compat strict, as in the reference', async () => {
    const cut = answer('x', { finishReason: 'length' });
    const fake = await run(
      { answers: [...Array.from({ length: 12 }, () => cut), done, done] },
      { compat: 'strict' },
    );
    expect(fake.end.ending).toBe('completed');
  });
});

describe('under the XML protocol', () => {
  const xml = (keystrokes: string, complete = false): string =>
    `<response>\n<analysis>seen</analysis>\n<plan>next</plan>\n<commands>\n<keystrokes duration="0.1">${keystrokes}</keystrokes>\n</commands>\n<task_complete>${String(complete)}</task_complete>\n</response>`;

  it('an episode is asked for, typed, re-asked and confirmed in that form alone', async () => {
    const fake = await run(
      { answers: [xml('ls\n'), 'oops', xml('', true), xml('', true)], observations: ['x', 'out'] },
      { parser_name: 'xml' },
    );
    expect(fake.end.ending).toBe('completed');
    expect(lastOf(fake, 0)).toContain('<keystrokes duration="0.1">');
    expect(fake.acted[1]).toStrictEqual([{ keystrokes: 'ls\n', durationMs: 100 }]);
    expect(lastOf(fake, 2)).toMatch(/ERROR: no <response> was found[\s\S]*one <response> with/);
    expect(lastOf(fake, 3)).toContain('send <task_complete>true</task_complete> once more');
    expect(JSON.stringify(fake.asked)).not.toContain('JSON');
  });

  it('a cut reply that holds a whole response is taken, another one is asked for anew', async () => {
    const cut = (text: string): Answer => answer(text, { finishReason: 'length' });
    const fake = await run(
      {
        answers: [cut(`${xml('ls\n')}\nNow`), cut(xml('pwd\n').slice(0, 90)), xml('', true), xml('', true)],
      },
      { parser_name: 'xml' },
    );
    expect(fake.acted.map(([first]) => first?.keystrokes)).toStrictEqual([undefined, 'ls\n', '', '']);
    expect(lastOf(fake, 2)).toMatch(/longer than one reply may be/);
  });
});

describe('what a reply types', () => {
  it('goes to the terminal whole and in one piece, however long and in whatever script', async () => {
    const long = `cat > x <<'E'\n${'é中🦀\\"'.repeat(40_000)}\nE\n`;
    const fake = await run({ answers: [types([long]), done, done] });
    expect(fake.acted[1]).toStrictEqual([{ keystrokes: long, durationMs: 100 }]);
  });

  it('over what one turn of the terminal takes is an error that the model is told', async () => {
    const fake = await run({ answers: [types(['\u0000'.repeat(700_000), 'x\n']), done, done] });
    expect(lastOf(fake, 1)).toMatch(/ERROR: the keystrokes are longer than the 4194304 bytes/);
    expect(fake.acted).toHaveLength(3);
  });
});

describe('the trajectory', () => {
  it('holds raw replies and no tool calls under raw_content', async () => {
    const fake = await run(
      { answers: [answer(types(['ls\n']), { reasoning: 'hm' }), done, done], observations: ['x', 'out'] },
      { trajectory_config: { raw_content: true } },
    );
    expect(fake.steps[1]).toStrictEqual({
      source: 'agent',
      message: types(['ls\n']),
      reasoning: 'hm',
      observation: 'New Terminal Output:\nout',
      call: 0,
    });
  });

  it('has the prompt, then a step a reply: words, tool calls, observation, and the call whose metrics it has', async () => {
    const cut = answer('cut', { finishReason: 'length' });
    const fake = await run({
      answers: [cut, answer(types(['ls\n']), { reasoning: 'hm' }), 'oops', done, done],
      observations: ['x', 'out'],
    });
    expect(fake.steps.map(({ source, call }) => `${source}${call ?? ''}`)).toStrictEqual([
      'user',
      'agent0',
      'agent1',
      'agent2',
      'agent3',
      'agent4',
    ]);
    expect(fake.steps[2]).toStrictEqual({
      source: 'agent',
      message: 'Analysis: seen\nPlan: next',
      reasoning: 'hm',
      toolCalls: [{ id: 'call_0_1', name: 'bash_command', arguments: { keystrokes: 'ls\n', duration: 0.1 } }],
      observation: 'New Terminal Output:\nout',
      call: 1,
    });
    expect(fake.steps[3]).toMatchObject({ message: 'oops', observation: lastOf(fake, 3) });
    expect(fake.steps[5]?.toolCalls).toStrictEqual([
      { id: 'call_3_task_complete', name: 'mark_task_complete', arguments: {} },
    ]);
  });

  it('keeps what was asked for where the terminal fails in the middle of it', async () => {
    const fake = scripted({ answers: [types(['sleep 99\n'])] });
    const act = fake.tools.terminal.act.bind(fake.tools.terminal);
    const terminal = {
      ...fake.tools.terminal,
      act: (actions: Parameters<typeof act>[0]) =>
        actions.length === 0 ? act(actions) : Promise.reject(new Error('time is up')),
    };
    const input = { instruction: 'i', solutionEnv: {}, options: terminus2.parseOptions({}) };
    await expect(terminus2.episode(input, { ...fake.tools, terminal })).rejects.toThrow('time is up');
    expect(fake.steps[1]?.toolCalls).toHaveLength(1);
    expect(fake.steps[1]).not.toHaveProperty('observation');
  });
});

describe('replay', () => {
  const dones = Array.from({ length: 60 }, () => answer(done, { promptTokens: 1_800 }));
  const someAnswer = fc.oneof(
    fc
      .constantFrom(
        types(['ls\n']),
        types(['a', 'b\n']),
        done,
        'oops',
        '{"analysis": 1}',
        '<think>{}</think>' + done,
      )
      .map((text) => answer(text)),
    fc.constant(answer('cut', { finishReason: 'length' })),
    fc.constant(overflow),
  );
  const someObservation = fc.oneof(
    { weight: 9, arbitrary: fc.string({ unit: 'binary' }).map(shows) },
    { weight: 1, arbitrary: fc.constant(gone) },
  );

  it('over recorded answers and observations makes the same calls, steps and end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(someAnswer, { minLength: 8, maxLength: 8 }),
        fc.array(someObservation),
        async (answers, observations) => {
          const script = { answers: [...answers, ...dones], observations, promptTokensLimit: 2_000 };
          const first = await run(script, { max_turns: 8, max_length_reasks: 0 });
          const again = await run(script, { max_turns: 8, max_length_reasks: 0 });
          const record = ({ end, asked, acted, steps, kept }: typeof first) => ({
            end,
            asked,
            acted,
            steps,
            kept,
          });
          expect(record(again)).toStrictEqual(record(first));
        },
      ),
    );
  });

  it('goes on where the records end: a prefix of the calls is the same whatever comes after', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(someAnswer, { minLength: 6, maxLength: 6 }),
        fc.nat(5),
        async (answers, cut) => {
          const options = { max_turns: 6, max_length_reasks: 0 };
          const whole = await run({ answers: [...answers, ...dones], observations: ['x'] }, options);
          const other = await run(
            {
              answers: [...answers.slice(0, cut), ...dones],
              observations: ['x'],
            },
            options,
          );
          const shared = Math.min(cut + 1, whole.asked.length);
          expect(other.asked.slice(0, shared)).toStrictEqual(whole.asked.slice(0, shared));
        },
      ),
    );
  });
});
