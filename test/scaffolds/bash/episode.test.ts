// The turns of the bash scaffold over scripted ports.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Answer, ChatMessage, EpisodeEnd, PlainResult } from '../../../domain/ports.ts';
import type { ToolCall, ToolOffer } from '../../../domain/tools.ts';
import { bash } from '../../../scaffolds/bash/index.ts';
import { answer, scripted, type Fake } from '../fakes.ts';

const call = (args: unknown, id = 'a', name = 'bash'): ToolCall => ({
  id,
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
});
const runs = (command: string, id = 'a'): ToolCall => call({ command }, id);
const calls = (...toolCalls: readonly ToolCall[]): Answer => answer('', { toolCalls });

interface Played extends Fake {
  readonly end: EpisodeEnd;
  readonly offers: readonly (ToolOffer | undefined)[];
  readonly commands: readonly (string | undefined)[];
}

async function play(
  answers: readonly (Answer | string)[],
  options: Readonly<Record<string, unknown>> = {},
  results: readonly Partial<PlainResult>[] = [],
): Promise<Played> {
  const fake = scripted({ answers });
  const offers: (ToolOffer | undefined)[] = [];
  const tools = {
    ...fake.tools,
    model: {
      name: 'scripted',
      ask: (messages: readonly ChatMessage[], offer?: ToolOffer) => {
        offers.push(offer);
        return fake.tools.model.ask(messages);
      },
    },
    terminal: {
      ...fake.tools.terminal,
      run: async (command: Parameters<typeof fake.tools.terminal.run>[0]) => {
        const next = results[fake.ran.length];
        return { ...(await fake.tools.terminal.run(command)), ...next };
      },
    },
  };
  const input = { instruction: 'Make it so.', solutionEnv: {}, options: bash.parseOptions(options) };
  const end = await bash.episode(input, tools);
  return Object.assign(fake, { end, offers, commands: fake.ran.map(({ stdin }) => stdin) });
}

const toolResults = ({ kept }: Fake): string[] =>
  kept.filter(({ role }) => role === 'tool').map(({ content }) => content);

describe('an episode', () => {
  it('asks with the system prompt, the task and the tool, runs the call, tells the result, and ends with an answer', async () => {
    const fake = await play([calls(runs('ls')), 'All done.'], {}, [{ output: 'a b\n' }]);
    expect(fake.end).toStrictEqual({ ending: 'completed', detail: null });
    expect(fake.asked[0]?.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(fake.asked[0]?.[1]?.content).toBe('Make it so.');
    expect(fake.offers[0]).toMatchObject({ choice: 'auto', tools: [{ name: 'bash' }] });
    expect(fake.commands).toEqual(['ls']);
    expect(fake.ran[0]).toMatchObject({ timeoutMs: 120_000, outputLimitBytes: 16_000 });
    expect(fake.asked[1]?.slice(2)).toEqual([
      { role: 'assistant', content: '', toolCalls: [runs('ls')] },
      { role: 'tool', content: 'a b', toolCallId: 'a' },
    ]);
  });

  it('runs parallel calls in their order, each with a result of its own', async () => {
    const both = calls(runs('one', 'x'), call('{"comm', 'y'), runs('two', 'z'));
    const fake = await play([both, 'done'], {}, [{ output: '1' }, { output: '2', exitCode: 7 }]);
    expect(fake.commands).toEqual(['one', 'two']);
    expect(fake.kept.filter(({ role }) => role === 'tool').map(({ toolCallId }) => toolCallId)).toEqual([
      'x',
      'y',
      'z',
    ]);
    expect(toolResults(fake)).toMatchObject(['1', expect.stringContaining('ERROR'), '2\n[exit status 7]']);
    expect(fake.steps[2]).toMatchObject({
      toolCalls: [{ id: 'x' }, { id: 'y', arguments: { malformed: '{"comm' } }, { id: 'z' }],
      results: [{ callId: 'x', content: '1' }, { callId: 'y' }, { callId: 'z' }],
      call: 0,
    });
  });

  it('keeps text beside the calls, and hands reasoning back unless it is told not to', async () => {
    const reply = answer('I look.', { reasoning: 'hm', toolCalls: [runs('ls')] });
    const fake = await play([reply, 'done']);
    expect(fake.kept[2]).toMatchObject({ role: 'assistant', content: 'I look.', reasoning: 'hm' });
    expect(fake.steps[2]).toMatchObject({ message: 'I look.', reasoning: 'hm' });
    const without = await play([reply, 'done'], { interleaved_thinking: false });
    expect(JSON.stringify(without.kept)).not.toContain('hm');
  });

  it('shows an empty output, and a call that was ended for its time', async () => {
    const fake = await play(
      [calls(call({ command: 'sleep 9', timeout_sec: 2 })), calls(runs('true')), 'done'],
      {},
      [{ timedOut: true, exitCode: 137, output: 'half' }, {}],
    );
    expect(fake.ran[0]?.timeoutMs).toBe(2_000);
    expect(toolResults(fake)).toEqual([expect.stringMatching(/^half\n\[ended after 2 s,/), '(no output)']);
  });

  it('names no more time than may be named', async () => {
    const fake = await play([calls(call({ command: 'x', timeout_sec: 9_999_999 })), 'done']);
    expect(fake.ran[0]?.timeoutMs).toBe(3_600_000);
  });
});

describe('a call that cannot be read', () => {
  it.each<[string, ToolCall, RegExp]>([
    ['broken JSON', call('{"command": "ls'), /not valid JSON/],
    ['no object', call('"ls"'), /no JSON object/],
    ['an array', call('["ls"]'), /no JSON object/],
    ['no arguments', call(''), /command is missing/],
    ['no command', call({ cmd: 'ls' }), /command is missing/],
    ['a command that is no string', call({ command: ['ls'] }), /command is missing, or no string/],
    ['an empty command', call({ command: ' \n' }), /command is empty/],
    ['a time that is none', call({ command: 'ls', timeout_sec: '9' }), /timeout_sec is no number/],
    ['a time below 0', call({ command: 'ls', timeout_sec: -1 }), /timeout_sec is not above 0/],
    ['a NUL', call({ command: 'a\0b' }), /NUL/],
    ['another tool', call({}, 'a', 'python'), /there is no tool "python": there is bash/],
    ['a tool that is not offered', call({}, 'a', 'submit'), /there is no tool "submit"/],
  ])('%s: is fed back as its result, and nothing is run', async (_what, bad, error) => {
    const fake = await play([calls(bad), 'done']);
    expect(fake.ran).toEqual([]);
    expect(toolResults(fake)[0]).toMatch(error);
    // What servers are handed back is an object always.
    for (const { toolCalls } of fake.asked[1] ?? []) {
      for (const one of toolCalls ?? []) expect(JSON.parse(one.arguments)).toBeTypeOf('object');
    }
    expect(fake.end.ending).toBe('completed');
  });

  it('counts as a turn without a valid call, and so many in a row end the episode', async () => {
    const bad = calls(call('{'));
    const fake = await play([bad, bad, calls(runs('ls')), bad, '', bad]);
    expect(fake.end).toEqual({ ending: 'no-valid-call', detail: '3 turns in a row had no valid call' });
    expect((await play([bad], { max_invalid_turns: 1 })).end.ending).toBe('no-valid-call');
  });

  it('beside a valid one is no turn without a valid call', async () => {
    const mixed = calls(call('{', 'a'), runs('ls', 'b'));
    expect((await play([mixed, mixed, 'done'], { max_invalid_turns: 1 })).end.ending).toBe('completed');
  });
});

describe('the end', () => {
  const submit = call({}, 's', 'submit');
  const options = { finish: 'submit' };

  it('is the tool submit where it is asked for; what is called after it is not run', async () => {
    const fake = await play([calls(runs('ls'), submit, runs('rm', 'z'))], options);
    expect(fake.end).toEqual({ ending: 'completed', detail: null });
    expect(fake.commands).toEqual(['ls']);
    expect(fake.offers[0]?.tools.map(({ name }) => name)).toEqual(['bash', 'submit']);
    expect(toolResults(fake)[2]).toMatch(/Not run/);
  });

  it('is then no answer: it is asked on, and bounded', async () => {
    const fake = await play(['done', 'done', calls(call('', 's', 'submit'))], options);
    expect(fake.end.ending).toBe('completed');
    expect(fake.asked[1]?.at(-1)?.content).toMatch(/called no tool/);
    expect((await play(['done', 'done', 'done'], options)).end.ending).toBe('no-valid-call');
  });

  it('is no empty reply', async () => {
    const fake = await play(['  \n', 'done']);
    expect(fake.end.ending).toBe('completed');
    expect(fake.asked[1]?.at(-1)?.content).toMatch(/was empty/);
  });

  it.each([
    '<tool_call>{"name": "bash", "arguments": {"command": "ls"}',
    '<function=bash>\n<parameter=command>ls</parameter>',
    '[TOOL_CALLS]bash{"command": "ls"}',
    '<|tool_calls_section_begin|>',
    'I look. <|python_tag|>{"name": "bash"}',
    '```tool_call\nbash(command="ls")\n```',
  ])('is no text that holds a call which the server could not read: %s', async (text) => {
    const fake = await play([text, 'done']);
    expect(fake.asked).toHaveLength(2);
    expect(fake.asked[1]?.at(-1)?.content).toMatch(/could not be read/);
    expect((await play([text, text, text])).end.ending).toBe('no-valid-call');
  });

  it('is the limit of turns', async () => {
    const fake = await play([calls(runs('a')), calls(runs('b'))], { max_turns: 2 });
    expect(fake.end).toEqual({ ending: 'turn-limit', detail: '2 turns' });
  });

  it('is a prompt that does not fit', async () => {
    const fake = await play([{ kind: 'overflow', message: 'maximum context length' }]);
    expect(fake.end).toEqual({ ending: 'out-of-context', detail: 'maximum context length' });
  });

  it('is too many replies in a row that were cut; of a cut one nothing is run or handed back', async () => {
    const cut = answer('par', { finishReason: 'length', toolCalls: [runs('rm -rf')] });
    const fake = await play([cut, calls(runs('ls')), cut, cut], { max_length_reasks: 1 });
    expect(fake.end.ending).toBe('out-of-output');
    expect(fake.commands).toEqual(['ls']);
    expect(fake.asked[1]?.at(-2)).toEqual({ role: 'assistant', content: 'par' });
    expect(fake.asked[1]?.at(-1)?.content).toMatch(/cut off/);
  });
});

it('keeps the step of a turn whose command met the end of the time', async () => {
  const fake = scripted({ answers: [calls(runs('ls'))] });
  const terminal = { ...fake.tools.terminal, run: () => Promise.reject(new Error('time is up')) };
  const input = { instruction: 'i', solutionEnv: {}, options: bash.parseOptions({}) };
  await expect(bash.episode(input, { ...fake.tools, terminal })).rejects.toThrow('time is up');
  expect(fake.steps.at(-1)).toMatchObject({ toolCalls: [{ id: 'a' }], results: [], call: 0 });
});

it('makes the same calls of the same answers and results, whatever they are', async () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('{"command":"ls"}', '{', '{"command":1}', 'null'));
  const written = fc.record({ id: fc.uuid(), name: fc.constantFrom('bash', 'submit', 'x'), arguments: text });
  const reply = fc
    .record({
      text: fc.string(),
      reasoning: fc.constantFrom(null, 'r'),
      finishReason: fc.constantFrom('stop', 'length'),
      toolCalls: fc.array(written, { maxLength: 3 }),
    })
    .map(({ text: said, ...more }) => answer(said, more as Partial<Extract<Answer, { kind: 'reply' }>>));
  await fc.assert(
    fc.asyncProperty(
      fc.array(reply, { minLength: 6, maxLength: 6 }),
      fc.constantFrom('answer', 'submit'),
      async (all, finish) => {
        const options = { max_turns: 6, finish };
        const [first, again] = [await play(all, options), await play(all, options)];
        expect(again.asked).toEqual(first.asked);
        expect(again.ran).toEqual(first.ran);
        expect(again.end).toEqual(first.end);
      },
    ),
    { numRuns: 50 },
  );
});
