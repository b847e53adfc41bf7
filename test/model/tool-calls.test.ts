// Native tool calls: what is asked, and every shape in which servers stream the calls.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../domain/ports.ts';
import type { ToolOffer } from '../../domain/tools.ts';
import { createModelClient, type ModelClient } from '../../model/client.ts';
import { ToolCallAssembly } from '../../model/tool-calls.ts';
import {
  done,
  event,
  reply,
  startScriptedServer,
  stream,
  usage,
  type ScriptedServer,
} from './scripted-server.ts';

const offer: ToolOffer = {
  tools: [{ name: 'bash', description: 'Runs it.', parameters: { type: 'object', properties: {} } }],
  choice: 'auto',
};

/** A chunk with these fragments of calls. */
const part = (calls: unknown, more: Record<string, unknown> = {}, finish: string | null = null): string => {
  const { token_ids, ...delta } = more;
  const ids = token_ids === undefined ? {} : { token_ids };
  return event({
    choices: [{ index: 0, delta: { tool_calls: calls, ...delta }, finish_reason: finish, ...ids }],
  });
};
const fn = (name: string | null, args: unknown): Record<string, unknown> => ({
  function: { ...(name === null ? {} : { name }), arguments: args },
});

describe('the fragments of tool calls', () => {
  const call = (name: string, args: string, id: string | null = null) => ({ id, name, arguments: args });
  it.each<[string, Parameters<ToolCallAssembly['take']>[0][], ReturnType<typeof call>[]]>([
    [
      'by index, a head and pieces of the arguments',
      [
        [{ index: 0, id: 'a', function: { name: 'bash', arguments: '' } }],
        [{ index: 0, function: { arguments: '{"command"' } }],
        [{ index: 0, function: { arguments: ': "ls"}' } }],
      ],
      [call('bash', '{"command": "ls"}', 'a')],
    ],
    [
      'a whole call in one delta',
      [[{ index: 0, id: 'a', function: { name: 'bash', arguments: '{}' } }]],
      [call('bash', '{}', 'a')],
    ],
    [
      'parallel calls, woven into each other',
      [
        [{ index: 0, id: 'a', function: { name: 'bash' } }],
        [{ index: 1, id: 'b', function: { name: 'submit' } }],
        [
          { index: 1, function: { arguments: '{}' } },
          { index: 0, function: { arguments: '{"x"' } },
        ],
        [{ index: 0, function: { arguments: ':1}' } }],
      ],
      [call('bash', '{"x":1}', 'a'), call('submit', '{}', 'b')],
    ],
    [
      'parallel calls that all say index 0',
      [
        [{ index: 0, id: 'a', function: { name: 'bash', arguments: '{"n":1}' } }],
        [{ index: 0, id: 'b', function: { name: 'bash', arguments: '{"n":2}' } }],
      ],
      [call('bash', '{"n":1}', 'a'), call('bash', '{"n":2}', 'b')],
    ],
    [
      'several whole calls without an index',
      [
        [
          { id: 'a', function: { name: 'bash', arguments: '{"n":1}' } },
          { id: 'b', function: { name: 'bash', arguments: '{"n":2}' } },
        ],
      ],
      [call('bash', '{"n":1}', 'a'), call('bash', '{"n":2}', 'b')],
    ],
    [
      'pieces without an index go to the last call',
      [[{ id: 'a', function: { name: 'bash' } }], [{ function: { arguments: '{}' } }]],
      [call('bash', '{}', 'a')],
    ],
    [
      'whole calls without index and id',
      [
        [{ function: { name: 'bash', arguments: '{"n":1}' } }],
        [{ function: { name: 'bash', arguments: '{"n":2}' } }],
      ],
      [call('bash', '{"n":1}'), call('bash', '{"n":2}')],
    ],
    ['no id at all', [[{ index: 0, function: { name: 'bash', arguments: '{}' } }]], [call('bash', '{}')]],
    [
      'an id and a name in pieces',
      [
        [{ index: 0, id: 'call_', function: { name: 'ba' } }],
        [{ index: 0, id: '7', function: { arguments: '' } }],
        [{ index: 0, function: { name: 'sh' } }],
        [{ index: 0, function: { arguments: '{}' } }],
      ],
      [call('bash', '{}', 'call_7')],
    ],
    [
      'id and name said again in every chunk',
      [
        [{ index: 0, id: 'a', function: { name: 'bash', arguments: '{' } }],
        [{ index: 0, id: 'a', function: { name: 'bash', arguments: '}' } }],
      ],
      [call('bash', '{}', 'a')],
    ],
    [
      'arguments as an object',
      [[{ index: 0, id: 'a', function: { name: 'bash', arguments: { command: 'ls' } } }]],
      [call('bash', '{"command":"ls"}', 'a')],
    ],
    [
      'empty ids and names that mean nothing',
      [
        [{ index: 0, id: 'a', function: { name: 'bash', arguments: null } }],
        [{ index: 0, id: '', function: { name: '', arguments: '{}' } }],
      ],
      [call('bash', '{}', 'a')],
    ],
  ])('%s', (_what, deltas, expected) => {
    const assembly = new ToolCallAssembly();
    for (const delta of deltas) assembly.take(delta);
    expect(assembly.calls).toEqual(expected);
  });
});

describe('a reply that calls tools', () => {
  let server: ScriptedServer;
  let client: ModelClient;
  beforeAll(async () => {
    server = await startScriptedServer();
    client = createModelClient({
      url: server.url,
      servedName: 'tiny',
      apiKey: null,
      sampling: {},
      timeouts: { firstTokenMs: 5_000, stallMs: 5_000, trailingMs: 200 },
    });
  });
  afterAll(async () => {
    await client.close();
    await server.close();
  });
  const ask = (
    messages: readonly ChatMessage[] = [{ role: 'user', content: 'go' }],
    tools: ToolOffer | null = offer,
  ) => client.ask({ messages, sessionId: 's', attempt: 1, ...(tools === null ? {} : { offer: tools }) });

  it('has its text, its reasoning and its calls apart, and exact ids, as vLLM streams them', async () => {
    server.use(
      stream(
        event({ prompt_token_ids: [1], choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }),
        part(null, { reasoning_content: 'hm', token_ids: [7] }),
        part([], { content: 'I look.', token_ids: [8] }),
        part([{ index: 0, id: 'x', type: 'function', ...fn('bash', '') }], { token_ids: [9] }),
        part([{ index: 0, ...fn(null, '{"command": "ls"}') }], { token_ids: [10, 11] }),
        part(undefined, { token_ids: [12] }, 'tool_calls'),
        usage(1, 6),
        done,
      ),
    );
    expect(await ask()).toMatchObject({
      kind: 'reply',
      text: 'I look.',
      reasoning: 'hm',
      finishReason: 'stop',
      toolCalls: [{ id: 'x', name: 'bash', arguments: '{"command": "ls"}' }],
      completionIds: [7, 8, 9, 10, 11, 12],
    });
  });

  it.each(['tool_calls', 'function_call', 'stop', 'TOOL_CALLS'])(
    'is whole with finish_reason %s',
    async (finish) => {
      server.use(
        stream(part([{ index: 0, id: 'x', ...fn('bash', '{}') }]), part(undefined, {}, finish), done),
      );
      expect(await ask()).toMatchObject({ finishReason: 'stop', toolCalls: [{ name: 'bash' }] });
    },
  );

  it('is whole where a chunk of the call brought no ids and the usage confirms the others', async () => {
    const head = part([{ index: 0, id: 'x', ...fn('bash', '{}') }]);
    server.use(stream(head, part(undefined, { token_ids: [1, 2] }, 'tool_calls'), usage(1, 2), done));
    expect((await ask()).completionIds).toEqual([1, 2]);
    server.use(stream(head, part(undefined, { token_ids: [1, 2] }, 'tool_calls'), done));
    expect((await ask()).completionIds).toBeNull();
  });

  it('is cut where the length was reached in the middle of a call', async () => {
    server.use(stream(part([{ index: 0, id: 'x', ...fn('bash', '{"comm') }], {}, 'length'), done));
    expect(await ask()).toMatchObject({ finishReason: 'length' });
  });

  it('may be the single call of old servers, function_call', async () => {
    const old = (call: unknown) => event({ choices: [{ index: 0, delta: { function_call: call } }] });
    server.use(
      stream(
        old({ name: 'bash', arguments: '' }),
        old({ arguments: '{}' }),
        part(undefined, {}, 'function_call'),
        done,
      ),
    );
    expect((await ask()).toolCalls).toEqual([{ id: null, name: 'bash', arguments: '{}' }]);
  });

  it('counts a call as the first token', async () => {
    server.use(stream(part([{ index: 0, id: 'x', ...fn('bash', '{}') }], {}, 'tool_calls'), done));
    const { times, usage: counted } = await ask();
    expect(times.firstTokenMs).not.toBeNull();
    expect(counted).toMatchObject({ estimated: true });
    expect(counted.completionTokens).toBeGreaterThan(0);
  });

  it('has no calls where it made none', async () => {
    server.use(stream(part([], { content: 'done' }, 'stop'), done));
    expect(await ask()).not.toHaveProperty('toolCalls');
  });

  it('is asked for with the tools, the choice, earlier calls and their results', async () => {
    server.use(stream(part([], { content: 'x' }, 'stop'), done));
    await ask([
      {
        role: 'assistant',
        content: '',
        toolCalls: [{ id: 'x', name: 'bash', arguments: '{"command":"ls"}' }],
      },
      { role: 'tool', content: 'a b', toolCallId: 'x' },
    ]);
    expect(JSON.parse(server.seen.at(-1)?.body ?? '')).toMatchObject({
      messages: [
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'x', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'x', content: 'a b' },
      ],
      tools: [{ type: 'function', function: { name: 'bash', description: 'Runs it.' } }],
      tool_choice: 'auto',
    });
    await ask([{ role: 'user', content: 'go' }], null);
    expect(JSON.parse(server.seen.at(-1)?.body ?? '')).not.toHaveProperty('tools');
    expect(JSON.parse(server.seen.at(-1)?.body ?? '')).not.toHaveProperty('tool_choice');
  });

  it('says something where a reply said nothing, and no half of a character', async () => {
    server.use(reply(200, ''));
    const half = '😀'.slice(0, 1);
    await ask([
      { role: 'user', content: `a${half}` },
      { role: 'assistant', content: '' },
    ]).catch(() => undefined);
    const { messages } = JSON.parse(server.seen.at(-1)?.body ?? '{}') as { messages: unknown };
    expect(messages).toEqual([
      { role: 'user', content: 'a\ufffd' },
      { role: 'assistant', content: '(empty)' },
    ]);
  });

  it.each([
    [429, 'does not support tools right now'],
    [502, 'the request was: «does not support tools»'],
  ])('is no fault of the configuration where a server is busy or away: %i', async (status, said) => {
    server.use(reply(status, JSON.stringify({ error: { message: said, type: 'x', code: status } })));
    await expect(ask()).rejects.toMatchObject({ failureClass: 'ModelUnavailable' });
  });

  it.each([
    [400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
    [400, 'tool_choice="required" requires --tool-call-parser to be set'],
    [400, 'registry.ollama.ai/library/tiny does not support tools'],
    [500, 'tools param requires --jinja flag'],
    [422, 'Tools are not supported by this model'],
  ])(
    'is refused as a fault of the configuration where the server takes no tools: %i %s',
    async (status, said) => {
      server.use(
        reply(status, JSON.stringify({ error: { message: said, type: 'BadRequestError', code: status } })),
      );
      await expect(ask()).rejects.toMatchObject({ failureClass: 'ConfigInvalid' });
    },
  );
});
