// Tool calls as text and in parts: what is streamed is what was meant, and what is handed back is what was sampled.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunksOf, completionOf, wholeAnswer, type Reply } from '../../instruments/known-rate/answers.ts';
import { encode, renderChat } from '../../instruments/known-rate/tokens.ts';
import { textOf, type Spoken, type WireCall } from '../../instruments/known-rate/tool-calls.ts';
import { ToolCallAssembly } from '../../model/tool-calls.ts';

const name = fc.constantFrom('bash', 'submit');
const json = fc
  .dictionary(fc.string({ maxLength: 5 }), fc.string({ unit: 'grapheme' }))
  .map((value) => JSON.stringify(value));
const spoken: fc.Arbitrary<Spoken> = fc.record({
  content: fc.string({ unit: 'grapheme' }).filter((text) => text.isWellFormed()),
  calls: fc.array(fc.record({ name, arguments: json }), { maxLength: 3 }),
});
const replyOf = (said: Spoken, maxTokens = 1_000_000): Reply => ({
  form: 'chat',
  model: 'm',
  name: 'n',
  promptIds: [1],
  includeUsage: false,
  returnTokenIds: true,
  logprobs: false,
  promptLogprobs: false,
  ...completionOf({ thought: '', spoken: said }, maxTokens),
});
interface Chunk {
  readonly choices: readonly {
    readonly delta: { readonly content?: string; readonly tool_calls?: WireCall[] };
    readonly finish_reason: string | null;
    readonly token_ids?: readonly number[];
  }[];
}

describe('a reply with tool calls', () => {
  it('comes in parts that make it up again, whatever the size of a part', () => {
    fc.assert(
      fc.property(spoken, fc.integer({ min: 1, max: 40 }), (said, size) => {
        const choices = [...chunksOf(replyOf(said), size)].flatMap((chunk) => (chunk as Chunk).choices);
        const assembly = new ToolCallAssembly();
        for (const { delta } of choices) assembly.take(delta.tool_calls ?? []);
        expect(choices.map(({ delta }) => delta.content ?? '').join('')).toBe(said.content);
        expect(assembly.calls.map((call) => ({ name: call.name, arguments: call.arguments }))).toEqual(
          said.calls,
        );
        expect(new Set(assembly.calls.map(({ id }) => id)).size).toBe(said.calls.length);
        expect(choices.at(-1)?.finish_reason).toBe(said.calls.length > 0 ? 'tool_calls' : 'stop');
        expect(choices.flatMap(({ token_ids }) => token_ids ?? [])).toEqual(replyOf(said).completionIds);
      }),
    );
  });

  it('is the same whole', () => {
    const said = { content: '', calls: [{ name: 'bash', arguments: '{"command":"ls"}' }] };
    expect(wholeAnswer(replyOf(said))).toMatchObject({
      choices: [
        {
          message: { content: null, tool_calls: [{ type: 'function', function: said.calls[0] }] },
          finish_reason: 'tool_calls',
        },
      ],
    });
  });

  it('is extended by the prompt that hands it back', () => {
    fc.assert(
      fc.property(spoken, (said) => {
        const before = renderChat([{ role: 'user', content: 'go' }]);
        const known = [...before, ...replyOf(said).completionIds];
        const next = renderChat([
          { role: 'user', content: 'go' },
          { role: 'assistant', content: textOf(said) },
          { role: 'tool', content: 'ok' },
        ]);
        expect(next.slice(0, known.length)).toEqual(known);
      }),
    );
  });

  it('is cut where it is longer than it may be', () => {
    const said = { content: '', calls: [{ name: 'bash', arguments: '{"command":"ls"}' }] };
    const reply = replyOf(said, encode(textOf(said)).length - 10);
    expect(reply.finishReason).toBe('length');
    const choices = [...chunksOf(reply, 4)].flatMap((chunk) => (chunk as Chunk).choices);
    expect(choices.at(-1)?.finish_reason).toBe('length');
  });
});
