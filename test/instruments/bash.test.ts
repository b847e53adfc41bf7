// Known-rate models under the real bash scaffold, over the real server, client and shell: their ends are the ones they mean.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChatMessage, EpisodeTools, PlainCommand, PlainResult } from '../../domain/ports.ts';
import type { ToolOffer } from '../../domain/tools.ts';
import { failurePlanOf, intentOf, type Intent } from '../../instruments/known-rate/intent.ts';
import type { KnownTask } from '../../instruments/known-rate/known-task.ts';
import { startKnownRateServer, type KnownRateServer } from '../../instruments/known-rate/server.ts';
import type { RawAnswer } from '../../model/answer.ts';
import { createModelClient, type ModelClient } from '../../model/client.ts';
import { bash } from '../../scaffolds/bash/index.ts';
import { stepOf } from './known-data.ts';

const long = `# ${'x'.repeat(9_000)}\n`;
const task: KnownTask = {
  slug: 'near',
  id: 'org/near',
  diskMiB: 200,
  steps: [
    stepOf('main', {
      'solve.sh': `#!/bin/bash\n${long}echo solved > state; cat "$(dirname "$0")/part.txt" >> state\n`,
      'near-miss.sh': '#!/bin/sh\necho undone > state\n',
      'part.txt': 'part\n',
    }),
  ],
};
const model = 'known-rate-0.5';
const seed = 2;

let server: KnownRateServer;
let client: ModelClient;
let root: string;
beforeAll(async () => {
  server = await startKnownRateServer({ tasks: [task], models: [model], seed });
  client = createModelClient({ url: server.url, servedName: model, apiKey: null, sampling: {} });
  root = await mkdtemp(join(tmpdir(), 'known-bash-'));
});
afterAll(async () => {
  await client.close();
  await server.close();
  await rm(root, { recursive: true, force: true });
});

/** Runs a call for real in a folder of its own; what would wait for ever is ended at once, as the clock would. */
async function run(dir: string, { argv, stdin }: PlainCommand): Promise<PlainResult> {
  if (/^sleep /.test(stdin ?? '')) return { exitCode: 137, timedOut: true, output: '' };
  const [program = '', ...words] = argv.map((word) => word.replace('/dev/shm', `${dir}/shm`));
  return await new Promise((resolve) => {
    const child = execFile(program, words, { cwd: `${dir}/work` }, (_error, output) => {
      resolve({ exitCode: child.exitCode ?? 1, timedOut: false, output });
    });
    child.stdin?.end(stdin ?? '');
  });
}

async function play(attempt: number, written: Readonly<Record<string, unknown>>) {
  const dir = await mkdtemp(join(root, 'trial-'));
  await mkdir(`${dir}/shm`);
  await mkdir(`${dir}/work`);
  const answers: RawAnswer[] = [];
  let chat: readonly ChatMessage[] = [];
  const tools: EpisodeTools = {
    terminal: {
      act: () => Promise.reject(new Error('the bash scaffold types nothing')),
      run: (command) => run(dir, command),
    },
    model: {
      name: model,
      ask: async (messages: readonly ChatMessage[], offer?: ToolOffer) => {
        const sessionId = `sweep/near/${model}/bash/${attempt}/1/main`;
        const raw = await client.ask({ messages, sessionId, attempt, ...(offer && { offer }) });
        answers.push(raw);
        const { text, reasoning, finishReason, usage } = raw;
        const toolCalls = raw.toolCalls?.map((call) => ({ ...call, id: call.id ?? '' }));
        const tokens = { promptTokens: usage.promptTokens, completionTokens: usage.completionTokens };
        return { kind: 'reply', text, reasoning, finishReason, ...(toolCalls && { toolCalls }), ...tokens };
      },
    },
    log: () => undefined,
    keepMessages: (messages) => (chat = messages),
  };
  const options = bash.parseOptions({ max_turns: 7, ...written });
  const { ending } = await bash.episode({ instruction: 'do it', solutionEnv: {}, options }, tools);
  const files = await readdir(`${dir}/work`);
  const state = files.includes('state') ? await readFile(`${dir}/work/state`, 'utf8') : null;
  const errors = chat.filter(({ role, content }) => role === 'tool' && content.startsWith('ERROR')).length;
  return { ending, state, errors, answers };
}

const all = Array.from({ length: 100 }, (_, at) => intentOf(seed, model, 'near', at + 1));
const kindOf = (intent: Intent): string =>
  failurePlanOf(intent, task)?.way ?? (intent.slips ? 'slips' : 'solves');
/** One of each kind. */
const intents = [...new Map(all.map((intent) => [kindOf(intent), intent])).values()];

describe.each([{ finish: 'answer' }, { finish: 'submit', tool_choice: 'required' }])(
  'a known-rate model under bash, %j',
  (options) => {
    it('solves where it means to, fails as it means to, and errs only where it means one', async () => {
      const played = intents.map(async (intent) => {
        const way = failurePlanOf(intent, task)?.way;
        const { ending, state, errors } = await play(intent.attempt, options);
        const what = kindOf(intent);
        expect(ending, what).toBe(way === 'never-finishes' ? 'turn-limit' : 'completed');
        const miss = way === 'one-assertion' ? 'undone\n' : null;
        expect(state, what).toBe(intent.solve ? 'solved\npart\n' : miss);
        expect(errors, what).toBe(way === 'breaks-protocol-once' || what === 'slips' ? 1 : 0);
      });
      expect(await Promise.all(played)).toHaveLength(7);
    });
  },
);

it('has exact ids, and prompts that extend each other but where broken arguments had to be mended', async () => {
  for (const intent of intents.filter(({ solve }) => solve)) {
    const { answers, errors } = await play(intent.attempt, {});
    let breaks = 0;
    answers.forEach(({ promptIds, completionIds }, at) => {
      const next = answers[at + 1]?.promptIds;
      if (next === undefined) return;
      const known = [...(promptIds ?? []), ...(completionIds ?? [])];
      if (known.some((id, index) => next?.[index] !== id)) breaks += 1;
    });
    expect(answers.every(({ completionIds }) => completionIds !== null)).toBe(true);
    expect(breaks).toBe(errors);
  }
});

it('refuses, as vLLM does, broken arguments that are handed back', async () => {
  const broken = { id: 'a', name: 'bash', arguments: '{"command' };
  const sessionId = `sweep/near/${model}/bash/1/1/main`;
  const messages: ChatMessage[] = [{ role: 'assistant', content: '', toolCalls: [broken] }];
  await expect(client.ask({ messages, sessionId, attempt: 1 })).rejects.toThrow(/no JSON object/);
});
