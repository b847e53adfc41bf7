// The bash scaffold over recorded ports: each call is one command under an id of its own, however many workers ask for it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedModel } from '../../../activities/episode/recorded-model.ts';
import { trajectoryOf } from '../../../activities/episode/trajectory.ts';
import { observationKey, replyKey } from '../../../domain/layout.ts';
import type { ChatMessage, EpisodeEnd, TrajectoryStep } from '../../../domain/ports.ts';
import type { RawAnswer, RawToolCall } from '../../../model/answer.ts';
import type { AskInput } from '../../../model/client.ts';
import type { Command } from '../../../sandbox/port.ts';
import { bash } from '../../../scaffolds/bash/index.ts';
import { openFilesystemStore } from '../../../store/filesystem.ts';
import type { Store } from '../../../store/port.ts';
import { FakeSandbox, quiet } from '../fake-driver.ts';
import { agentSpec, chargedClock, openSession, openTerminal } from './recorded-scene.ts';

const prefix = 'v1/sweeps/s/trials/t/m/x/01/g001/';
const raw = (text: string, toolCalls?: readonly RawToolCall[]): RawAnswer => ({
  kind: 'reply',
  text,
  reasoning: null,
  ...(toolCalls === undefined ? {} : { toolCalls }),
  finishReason: 'stop',
  promptIds: null,
  completionIds: null,
  reasoningIds: null,
  logprobs: null,
  usage: { promptTokens: 3, completionTokens: 2, cachedTokens: null, estimated: false },
  times: { startedAt: '2026-01-01T00:00:00.000Z', firstTokenMs: 10, lastTokenMs: 110 },
});
const runs = (command: string, id: string | null): RawToolCall => ({
  id,
  name: 'bash',
  arguments: JSON.stringify({ command }),
});
const answers = [raw('', [runs('one', 'a'), runs('two', 'a')]), raw('', [runs('three', null)]), raw('done')];

let folder: string;
let store: Store;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'passband-bash-'));
  store = openFilesystemStore(folder);
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

interface Worked {
  readonly end: EpisodeEnd | Error;
  readonly asked: readonly AskInput[];
  readonly commands: readonly Command[];
  readonly kept: readonly ChatMessage[];
  readonly steps: readonly TrajectoryStep[];
  readonly model: RecordedModel;
}

/** One worker plays the episode; it is lost when its n-th command has been done and not yet recorded. */
async function work(lostAt = Infinity): Promise<Worked> {
  const session = await openSession(store, prefix, { clock: chargedClock(60_000) });
  const asked: AskInput[] = [];
  const model = new RecordedModel(session, {
    name: 'm',
    sessionId: 's/t/m/x/1/1/main',
    attempt: 1,
    maxTokens: null,
    client: () =>
      Promise.resolve({
        ask: (input: AskInput) => {
          asked.push(input);
          const call = input.messages.filter(({ role }) => role === 'assistant').length;
          return Promise.resolve(answers[call] ?? raw('done'));
        },
        tokenize: () => Promise.reject(new Error('nobody asks for ids')),
        probe: () => Promise.resolve({ contextTokens: null }),
      }),
  });
  const commands: Command[] = [];
  const sandbox = new FakeSandbox(agentSpec, {
    ...quiet,
    onRun: (command) => {
      commands.push(command);
      if (commands.length >= lostAt) return Promise.reject(new Error('the worker is lost'));
      return { stdout: Buffer.from(`out of ${Buffer.from(command.stdin ?? []).toString()}\n`) };
    },
  });
  const terminal = openTerminal(session, sandbox, { user: 'agent' });
  let kept: readonly ChatMessage[] = [];
  const steps: TrajectoryStep[] = [];
  const input = { instruction: 'Do it.', solutionEnv: {}, options: bash.parseOptions({}) };
  const end = await bash
    .episode(input, {
      terminal,
      model,
      log: (step) => steps.push(step),
      keepMessages: (messages) => (kept = messages),
    })
    .catch((error: unknown) => error as Error);
  return { end, asked, commands, kept, steps, model };
}

describe('the bash scaffold over records', () => {
  it('runs each call under an id of its own, as the user, with its limits and its command as stdin', async () => {
    const { end, commands } = await work();
    expect(end).toEqual({ ending: 'completed', detail: null });
    expect(commands.map(({ id }) => id)).toEqual(['run-0-0', 'run-0-1', 'run-0-2']);
    expect(commands.map(({ stdin }) => Buffer.from(stdin ?? []).toString())).toEqual(['one', 'two', 'three']);
    expect(commands[0]).toMatchObject({ user: 'agent', outputLimitBytes: 16_000 });
  });

  it('C78: a worker that goes on asks for the command that was lost by the id that it has, and for none before it', async () => {
    const lost = await work(2);
    expect(lost.end).toBeInstanceOf(Error);
    const next = await work();
    expect(next.end).toEqual({ ending: 'completed', detail: null });
    expect(next.commands.map(({ id }) => id)).toEqual(['run-0-1', 'run-0-2']);
    expect(next.commands[0]?.argv).toEqual(lost.commands[1]?.argv);
    expect(next.asked).toHaveLength(2);
    const third = await work();
    expect([third.asked, third.commands]).toEqual([[], []]);
    expect(third.kept).toEqual(next.kept);
  });

  it('records the calls with the reply, under ids that are one each', async () => {
    const { model, kept } = await work();
    expect(model.replies[0]?.toolCalls?.map(({ id }) => id)).toEqual(['a', 'call_0_2']);
    expect(model.replies[1]?.toolCalls?.map(({ id }) => id)).toEqual(['call_1_1']);
    expect(model.replies[2]).not.toHaveProperty('toolCalls');
    expect(kept.filter(({ role }) => role === 'tool').map(({ toolCallId }) => toolCallId)).toEqual([
      'a',
      'call_0_2',
      'call_1_1',
    ]);
    for (const key of [replyKey(prefix, 0, 1), observationKey(prefix, 0, 2)])
      expect(await store.get(key)).not.toBeNull();
  });

  it('leaves a trajectory with each result at its call', async () => {
    const { steps, model } = await work();
    const trajectory = trajectoryOf({
      sessionId: 's/t/m/x/1/1/main',
      agent: { name: 'bash', version: '1' },
      modelName: 'm',
      options: {},
      instruction: 'Do it.',
      steps,
      replies: model.replies,
      tools: model.tools,
    });
    expect(trajectory.agent.tool_definitions).toMatchObject([
      { type: 'function', function: { name: 'bash', parameters: { required: ['command'] } } },
    ]);
    expect(trajectory.steps[2]?.observation?.results).toEqual([
      { source_call_id: 'a', content: 'out of one' },
      { source_call_id: 'call_0_2', content: 'out of two' },
    ]);
  });
});
