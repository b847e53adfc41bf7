// What happens at the context's limit: before it, over it, and where no summary can be had.
import { describe, expect, it } from 'vitest';
import type { Answer, ChatMessage, Compaction, EpisodeEnd, Observation } from '../../../domain/ports.ts';
import { terminus2 } from '../../../scaffolds/terminus-2/index.ts';
import { answer, scripted, types, type Fake, type Script } from '../fakes.ts';

interface Ran extends Fake {
  readonly end: EpisodeEnd;
  readonly compactions: readonly Compaction[];
}

async function run(script: Script, options: Readonly<Record<string, unknown>> = {}): Promise<Ran> {
  const fake = scripted(script);
  const end = await terminus2.episode(
    { instruction: 'Make it so.', solutionEnv: {}, options: terminus2.parseOptions(options) },
    fake.tools,
  );
  return { ...fake, end, compactions: fake.steps.flatMap(({ compaction }) => compaction ?? []) };
}

const done = types([], true);
const look = types(['ls\n']);
const overflow = (promptTokensLimit?: number): Answer => ({
  kind: 'overflow',
  message: 'This model has a maximum context length.',
  ...(promptTokensLimit === undefined ? {} : { promptTokensLimit }),
});
const cut = answer('too lo', { finishReason: 'length' });
const full = (text: string): Answer => answer(text, { promptTokens: 9_500 });
const last = (messages: readonly ChatMessage[] | undefined): string => messages?.at(-1)?.content ?? '';
const roles = (messages: readonly ChatMessage[] | undefined): string =>
  (messages ?? []).map(({ role }) => role[0]).join('');
/** Of a script's answers, what begins the chat anew. */
const three = ['SUMMARY', 'QUESTIONS', 'ANSWERS'].map((text) => answer(text, { promptTokens: 1_000 }));
const screens: Script['observations'] = ['x', 'out', { alive: true, fresh: 'y', screen: 'SCREEN' }];

describe('a chat with fewer than the threshold of tokens free', () => {
  const script: Script = {
    answers: [full(look), ...three, done, done],
    observations: screens,
    promptTokensLimit: 10_000,
  };

  it('is summarised by its agent, questioned by one that knows nothing, and goes on from the answers', async () => {
    const fake = await run(script);
    const [, summary, questions, answers, next] = fake.asked;
    expect(roles(summary)).toBe('uau');
    expect(last(summary)).toContain('Make it so.');
    expect(roles(questions)).toBe('u');
    expect(last(questions)).toMatch(/Make it so\.[\s\S]*SUMMARY[\s\S]*SCREEN[\s\S]*at least five/);
    expect(roles(answers)).toBe('uauau');
    expect(answers?.[3]?.content).toBe('SUMMARY');
    expect(last(answers)).toContain('QUESTIONS');
    expect(roles(next)).toBe('uuau');
    expect(next?.[0]).toStrictEqual(fake.asked[0]?.[0]);
    expect(next?.[1]?.content).toBe(last(questions));
    expect(next?.[2]?.content).toBe('QUESTIONS');
    expect(last(next)).toContain('ANSWERS');
    expect(fake.end.ending).toBe('completed');
  });

  it('leaves a mark in the trajectory, with an estimate that says so by its name, and every call of it', async () => {
    const fake = await run(script);
    expect(fake.compactions).toHaveLength(1);
    expect(fake.compactions[0]).toMatchObject({
      ordinal: 1,
      trigger: 'threshold',
      outcome: 'summary',
      limitTokens: 10_000,
      splits: false,
    });
    expect(fake.compactions[0]?.tokensEstimate).toBeGreaterThan(9_500);
    expect(fake.compactions[0]?.parts.map(({ name, call }) => `${name}${call}`)).toStrictEqual([
      'summary1',
      'questions2',
      'answers3',
    ]);
    expect(fake.compactions[0]?.before).toHaveLength(2);
    expect(fake.compactions[0]?.after).toHaveLength(3);
    expect(fake.steps.map(({ source }) => source[0]).join('')).toBe('uasuaa');
    expect(fake.steps[3]?.message).toContain('ANSWERS');
  });

  it('has no two messages of the user in a row under compacted_history merged, however often it is compacted', async () => {
    const again: Script = {
      ...script,
      answers: [full(look), ...three, answer(look, { promptTokens: 9_500 }), ...three, done, done],
    };
    const fake = await run(again, { compacted_history: 'merged' });
    for (const messages of fake.asked) expect(roles(messages)).toMatch(/^(ua)*u$/);
    const kept = fake.asked[8]?.[0]?.content ?? '';
    expect(kept.startsWith(fake.asked[0]?.[0]?.content ?? '-')).toBe(true);
    expect(kept.split('at least five')).toHaveLength(2);
  });

  it('hands no thinking over, but for compat strict', async () => {
    const thinking = ['SUMMARY', 'QUESTIONS', 'ANSWERS'].map((text) =>
      answer(`<think>a secret</think>\n${text}`, { promptTokens: 1_000 }),
    );
    const said = async (options: Readonly<Record<string, unknown>>): Promise<string> => {
      const fake = await run({ ...script, answers: [full(look), ...thinking, done, done] }, options);
      return [2, 3, 4].map((call) => last(fake.asked[call])).join('\n');
    };
    expect(await said({})).not.toContain('a secret');
    expect(await said({ compat: 'strict', proactive_summarization_threshold: 600 })).toContain('a secret');
  });

  it('stays as it is where one of the three cannot be had, and is tried again at the next turn', async () => {
    for (const failed of [cut, overflow(), answer(' \n'), answer('<think>hm</think>')]) {
      const fake = await run({
        ...script,
        answers: [full(look), answer('SUMMARY'), failed, full(done), ...three, done],
      });
      expect(last(fake.asked[3])).toBe('New Terminal Output:\nout');
      expect(fake.compactions.map(({ outcome }) => outcome)).toStrictEqual(['none', 'summary']);
      expect(fake.end.ending).toBe('completed');
    }
  });

  it('ends with the terminal, if that is gone', async () => {
    const gone: Observation = { alive: false, fresh: null, screen: '' };
    const fake = await run({ ...script, observations: ['x', 'out', gone] });
    expect(fake.end.ending).toBe('terminal-lost');
  });
});

describe('the margins of a compaction', () => {
  const turns = (promptTokens: number, limit: number): Script => ({
    answers: [answer(look, { promptTokens }), ...three, done, done],
    promptTokensLimit: limit,
  });
  const count = async (script: Script, options = {}): Promise<number> =>
    (await run({ ...script, answers: [...(script.answers ?? []), done, done] }, options)).compactions.length;

  it('are 8,000 tokens, or the option', async () => {
    expect(await count(turns(20_000, 40_000))).toBe(0);
    expect(await count(turns(33_000, 40_000))).toBe(1);
    expect(await count(turns(33_000, 40_000), { proactive_summarization_threshold: 2_000 })).toBe(0);
  });

  it('are a part of a short context, but for compat strict', async () => {
    expect(await count(turns(2_000, 4_096))).toBe(0);
    expect(await count(turns(2_000, 4_096), { compat: 'strict', max_turns: 2 })).toBe(1);
  });

  it('are looked at in no chat whose context nobody tells', async () => {
    const script: Script = { answers: turns(500_000, 1).answers ?? [] };
    expect(await count(script)).toBe(0);
  });

  it('are not looked at without enable_summarize', async () => {
    expect(await count(turns(9_900, 10_000), { enable_summarize: false })).toBe(0);
  });
});

describe('C64 a prompt that overflows', () => {
  const turn = answer(look, { promptTokens: 500 });

  it('is taken out, and the chat compacted once', async () => {
    const fake = await run({ answers: [turn, overflow(), ...three, done, done], observations: screens });
    expect(roles(fake.asked[2])).toBe('uau');
    expect(last(fake.asked[2])).not.toContain('New Terminal Output');
    expect(roles(fake.asked[5])).toBe('uuau');
    expect(fake.compactions.map(({ trigger, outcome }) => [trigger, outcome])).toStrictEqual([
      ['overflow', 'summary'],
    ]);
    expect(fake.end.ending).toBe('completed');
  });

  it('has the newest turns dropped until there is room, by the limit that its message tells', async () => {
    const long = 'o'.repeat(9_000);
    const fake = await run({
      answers: [turn, turn, turn, overflow(10_000), ...three, done, done],
      observations: ['x', long, long, 'b'],
    });
    // What overflowed was hardly longer than what was before: of 10,000 tokens an eighth has to be free.
    expect(fake.compactions[0]?.before).toHaveLength(6);
    expect(roles(fake.asked[4])).toBe('uauau');
  });

  it('goes on from a short summary of the end of the screen where the three cannot be had', async () => {
    const screen = `${'🦀'.repeat(400)}${'é'.repeat(900)}`;
    const fake = await run({
      answers: [turn, overflow(), overflow(), answer('IN SHORT'), done, done],
      observations: ['x', 'out', { alive: true, fresh: 'y', screen }],
    });
    expect(roles(fake.asked[3])).toBe('u');
    expect(last(fake.asked[3])).toContain(`\n${'🦀'.repeat(100)}${'é'.repeat(900)}\n`);
    expect(roles(fake.asked[4])).toBe('uau');
    expect(last(fake.asked[4])).toMatch(/Make it so\.[\s\S]*IN SHORT/);
    expect(fake.compactions[0]?.outcome).toBe('short-summary');
  });

  it('goes on from the task and the screen where there is no short summary either', async () => {
    const fake = await run({ answers: [turn, overflow(), cut, cut, done, done], observations: screens });
    expect(last(fake.asked[4])).toMatch(/Make it so\.[\s\S]*SCREEN/);
    expect(fake.compactions[0]?.outcome).toBe('screen');
    expect(fake.end.ending).toBe('completed');
  });

  it('again after all that is answered by a canned sentence, which is told to be no reply', async () => {
    const fake = await run({
      answers: [turn, overflow(), cut, cut, overflow(), done, done],
      observations: screens,
    });
    expect(last(fake.asked[5])).toMatch(/ERROR: no reply could be had/);
    expect(roles(fake.asked[5])).toBe('uau');
    const canned = fake.steps.find(({ message }) => message.includes('technical difficulty'));
    expect(canned).toStrictEqual({
      source: 'agent',
      message: canned?.message,
      observation: last(fake.asked[5]),
    });
    expect(fake.end.ending).toBe('completed');
  });

  it.each([{}, { compat: 'strict' }])(
    'three turns in a row ends as out-of-context, under %j',
    async (options) => {
      const fake = await run({ answers: [turn, ...Array.from({ length: 40 }, () => overflow())] }, options);
      expect(fake.end).toStrictEqual({
        ending: 'out-of-context',
        detail: 'This model has a maximum context length.',
      });
      // Each turn: itself, summary, short summary, and once more.
      expect(fake.asked).toHaveLength(1 + 3 * 4);
    },
  );

  it('begins anew with the first message where nothing of the chat has room', async () => {
    const fake = await run({
      answers: [turn, overflow(300), done, done],
      observations: screens,
    });
    expect(roles(fake.asked[2])).toBe('u');
    expect(last(fake.asked[2])).toMatch(/Reply with one JSON object[\s\S]*Make it so\.[\s\S]*SCREEN/);
    expect(fake.compactions[0]?.outcome).toBe('restart');
    const again = await run({ answers: [turn, overflow(300), overflow(300)] });
    expect(again.end.ending).toBe('out-of-context');
  });

  it('as the first message of all is the end: there is nothing to compact', async () => {
    const fake = await run({ answers: [overflow(100)] });
    expect(fake.end.ending).toBe('out-of-context');
    expect(fake.asked).toHaveLength(1);
  });

  it('after a reply was cut is compacted, too', async () => {
    const fake = await run({ answers: [turn, cut, overflow(), ...three, done, done], observations: screens });
    expect(fake.end.ending).toBe('completed');
    expect(fake.compactions[0]?.before).toHaveLength(4);
  });
});

describe('a compaction', () => {
  it('keeps a completion that waits for its confirmation waiting', async () => {
    const fake = await run({
      answers: [full(done), ...three, done],
      observations: screens,
      promptTokensLimit: 10_000,
    });
    expect(fake.end.ending).toBe('completed');
  });

  it('splits the trajectory under linear_history', async () => {
    const fake = await run(
      { answers: [full(look), ...three, done, done], observations: screens, promptTokensLimit: 10_000 },
      { trajectory_config: { linear_history: true } },
    );
    expect(fake.compactions[0]?.splits).toBe(true);
  });

  it('that its clock or its model ends is in the trajectory with what was asked', async () => {
    const fake = scripted({
      answers: [full(look), answer('SUMMARY')],
      observations: screens,
      promptTokensLimit: 10_000,
    });
    const input = { instruction: 'i', solutionEnv: {}, options: terminus2.parseOptions({}) };
    await expect(terminus2.episode(input, fake.tools)).rejects.toThrow('no more answers');
    expect(fake.steps.at(-1)?.compaction).toMatchObject({
      outcome: 'none',
      parts: [{ name: 'summary', call: 1 }],
    });
  });
});
