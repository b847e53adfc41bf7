// tokens-in over real HTTP: an episode whose chat breaks at every turn is, in ids, one sequence; and any template's endings.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PromptIdsChain } from '../../../activities/episode/prompt-ids.ts';
import { RecordedModel } from '../../../activities/episode/recorded-model.ts';
import { tokenIdsOf } from '../../../activities/episode/token-ids.ts';
import { promptInIds } from '../../../activities/episode/tokens-in.ts';
import type { ChatMessage, EpisodeEnd } from '../../../domain/ports.ts';
import type { Sampling, TokensIn } from '../../../domain/sweep.ts';
import { startKnownRateServer, type KnownRateServer } from '../../../instruments/known-rate/server.ts';
import { renderChat } from '../../../instruments/known-rate/tokens.ts';
import { createModelClient, type ModelClient } from '../../../model/client.ts';
import { terminus2 } from '../../../scaffolds/terminus-2/index.ts';
import { openFilesystemStore } from '../../../store/filesystem.ts';
import { idSequences } from '../../../store/id-sequences.ts';
import type { Store } from '../../../store/port.ts';
import { readReplies } from '../../../store/replies.ts';
import { plainTask } from '../../instruments/known-data.ts';
import { FakeSandbox, quiet } from '../fake-driver.ts';
import { agentSpec, chargedClock, openSession, openTerminal, unlessLost } from './recorded-scene.ts';

const sessionId = 's/plain/known-rate-1/terminus-2/1/1/main';
const generation = 'v1/sweeps/s/trials/plain/m/x/01/g001/';

/** A terminal that shows the sentinel of a solution that was typed, and pages where the test wants a long chat. */
class Showing extends FakeSandbox {
  readonly typed: string[] = [];
  page = '';

  override async terminal() {
    await super.terminal();
    return {
      act: (seq: number, actions: readonly { readonly keystrokes: string }[] = []) => {
        const text = actions.map(({ keystrokes }) => keystrokes).join('');
        this.typed.push(text);
        const tag = /DONE ([0-9a-f]{12})/.exec(text)?.[1];
        const page = text !== '' && seq <= 4 ? this.page : '';
        const screen = `${page}$${tag === undefined ? '' : `\nPASSBAND-DONE-${tag} 0\n$`}`;
        return Promise.resolve({
          observation: { alive: true, fresh: screen, screen: screen.slice(-1_500) },
          wallMs: 1,
        });
      },
    };
  }
}

let folder: string;
let store: Store;
let server: KnownRateServer;
let clients: ModelClient[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'passband-tokens-in-'));
  store = openFilesystemStore(folder);
  const tasks = [plainTask];
  server = await startKnownRateServer({ tasks, models: ['known-rate-1'], seed: 1, thinking: true });
  clients = [];
});
afterEach(async () => {
  for (const client of clients) await client.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

interface Scene {
  readonly tokensIn?: TokensIn;
  readonly sampling?: Sampling;
  readonly options?: Readonly<Record<string, unknown>>;
  readonly page?: string;
  /** The model's call, from 0, before which the worker is lost. */
  readonly dieAt?: number;
}

async function play({ tokensIn, sampling = {}, options = {}, page = '', dieAt = Infinity }: Scene) {
  const client = createModelClient({ url: server.url, servedName: 'known-rate-1', apiKey: null, sampling });
  clients.push(client);
  const session = await openSession(store, generation, { clock: chargedClock(600_000) });
  const model: RecordedModel = new RecordedModel(session, {
    name: 'm',
    sessionId,
    attempt: 1,
    maxTokens: sampling.maxTokens ?? null,
    ...(tokensIn && { tokensIn }),
    client: () =>
      model.replies.length >= dieAt ? Promise.reject(new Error('lost')) : Promise.resolve(client),
  });
  const sandbox = new Showing(agentSpec, quiet);
  sandbox.page = page;
  const terminal = openTerminal(session, sandbox);
  const end: EpisodeEnd | null = await unlessLost(
    terminus2.episode(
      { instruction: 'Solve it.', solutionEnv: {}, options: terminus2.parseOptions(options) },
      { terminal, model, log: () => undefined, keepMessages: () => undefined },
    ),
  );
  const replies = await readReplies(store, generation, 0);
  return { end, replies, typed: sandbox.typed, ids: tokenIdsOf(replies) };
}

describe('an episode of a model that thinks', () => {
  it('C66: breaks at every turn of a chat, as the template leaves its thinking out', async () => {
    const { end, replies, ids } = await play({});
    expect(end?.ending).toBe('completed');
    expect(replies.length).toBeGreaterThan(3);
    expect(replies.every(({ reasoning }) => reasoning?.includes('This is turn'))).toBe(true);
    expect(ids).toEqual({ exact: replies.length, breaks: { 'thinking-stripped': replies.length - 1 } });
    expect([...idSequences(replies, generation)]).toHaveLength(replies.length);
  });

  it.each([[null], [['<think>', '</think>'] as [string, string]]])(
    'C66: never breaks in ids, and is one sequence that holds all that was sampled (tags: %j)',
    async (thinkTags) => {
      const { end, replies, ids, typed } = await play({ tokensIn: { thinkTags } });
      expect(end?.ending).toBe('completed');
      expect(typed.join('')).toContain('solve.sh');
      expect(ids).toEqual({ exact: replies.length, breaks: {} });
      const [whole, ...others] = idSequences(replies, generation);
      expect(others).toEqual([]);
      expect(whole?.sampled).toHaveLength(replies.length);
      for (const { text, reasoning, logprobs, completionIds, reasoningIds } of replies) {
        expect(text.includes('<think>')).toBe(thinkTags === null);
        expect(reasoning?.includes('This is turn') ?? false).toBe(thinkTags !== null);
        expect(logprobs).toHaveLength(completionIds?.length ?? -1);
        expect(reasoningIds).toBeLessThan(completionIds?.length ?? 0);
      }
    },
  );

  it('sends a turn’s prompt as the template would have it, but for what is kept of earlier replies', async () => {
    const { replies } = await play({ tokensIn: { thinkTags: null } });
    const [first, second] = replies;
    const said = (first?.completionIds ?? []).slice(0, -1);
    const end = first?.completionIds?.at(-1);
    const rendered = renderChat([{ role: 'user', content: 'x' }]);
    expect(first?.promptIds?.suffix.slice(0, 1)).toEqual(rendered.slice(0, 1));
    // After the reply's own ending comes the next message, and no second ending.
    expect(said).not.toContain(end);
    expect(second?.promptIds?.suffix[0]).toBe(rendered[0]);
    expect(second?.promptIds?.suffix.at(-1)).toBe(rendered.at(-1));
  });

  it('goes on from a reply that was cut at its length, with the template’s ending after it', async () => {
    const { replies, ids } = await play({
      tokensIn: { thinkTags: null },
      sampling: { maxTokens: 70 },
      options: { max_length_reasks: 2 },
    });
    expect(replies.some(({ finishReason }) => finishReason === 'length')).toBe(true);
    expect(ids.breaks).toEqual({});
    expect([...idSequences(replies, generation)]).toHaveLength(1);
  });

  it('goes on in ids where a lost worker left it', async () => {
    const tokensIn = { thinkTags: null };
    const lost = await play({ tokensIn, dieAt: 2 });
    expect([lost.end, lost.replies.length]).toEqual([null, 2]);
    const { end, ids, replies } = await play({ tokensIn });
    expect(end?.ending).toBe('completed');
    expect(ids).toEqual({ exact: replies.length, breaks: {} });
  });

  it('begins anew where the chat was compacted, and says that the history changed', async () => {
    await server.close();
    const tasks = [plainTask];
    const models = ['known-rate-1'];
    server = await startKnownRateServer({ tasks, models, seed: 1, thinking: true, maxModelLen: 9_000 });
    const { ids, replies } = await play({
      tokensIn: { thinkTags: ['<think>', '</think>'] },
      page: '0123456789'.repeat(800),
    });
    expect(Object.keys(ids.breaks)).toEqual(['history-changed']);
    expect(ids.exact).toBe(replies.filter(({ kind }) => kind === 'reply').length);
  });
});

describe('the prompt after a reply', () => {
  const first: ChatMessage[] = [{ role: 'user', content: 'task' }];
  const next: ChatMessage[] = [
    ...first,
    { role: 'assistant', content: 'said' },
    { role: 'user', content: 'go' },
  ];
  const prompt = [1, 2, 3];

  /** A template that ends a reply with `ending` and puts 50, 51 before the next one. */
  async function after(
    ending: readonly number[],
    { completion, cut = false }: { readonly completion: readonly number[]; readonly cut?: boolean },
  ): Promise<readonly number[]> {
    const chain = new PromptIdsChain();
    const promptIds = chain.next(prompt, first);
    chain.take(
      {
        promptIds,
        completionIds: [...completion],
        reasoningIds: 0,
        finishReason: cut ? 'length' : 'stop',
        text: 'said',
      },
      first,
    );
    const { ids } = await promptInIds(next, {
      settings: { thinkTags: null },
      chain,
      sessionId,
      signal: new AbortController().signal,
      client: {
        tokenize: ({ messages }) => {
          const said = messages[1]?.content === 'a' ? [60, 61] : [62];
          return Promise.resolve({ ids: [9, ...said, ...ending, 50, 51], contextTokens: 100 });
        },
      },
    });
    return ids;
  }

  it.each([
    {
      title: 'has the ending once',
      ending: [7, 8],
      completion: [4, 5, 7],
      after: [8, 50, 51],
    },
    {
      title: 'has it once where the template puts something before it',
      ending: [6, 7, 8],
      completion: [4, 7],
      after: [8, 50, 51],
    },
    {
      title: 'keeps another ending that was sampled, before the template’s',
      ending: [7, 8],
      completion: [4, 77],
      after: [7, 8, 50, 51],
    },
    {
      title: 'gets the ending where the reply was cut',
      ending: [7, 8],
      completion: [4, 5],
      cut: true,
      after: [7, 8, 50, 51],
    },
    {
      title: 'gets it whole where the cut reply happens to end in a part of it',
      ending: [7, 8],
      completion: [4, 8],
      cut: true,
      after: [7, 8, 50, 51],
    },
  ])('$title', async ({ ending, completion, cut = false, after: expected }) => {
    expect(await after(ending, { completion, cut })).toEqual([...prompt, ...completion, ...expected]);
  });
});
