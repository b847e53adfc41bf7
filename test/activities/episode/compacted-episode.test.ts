// C64: Terminus-2 over its records, against a server that refuses prompts over its context as vLLM does.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedModel } from '../../../activities/episode/recorded-model.ts';
import { trajectoriesOf } from '../../../activities/episode/trajectories.ts';
import type { EpisodeEnd, TerminalAction, TrajectoryStep } from '../../../domain/ports.ts';
import { startKnownRateServer, type KnownRateServer } from '../../../instruments/known-rate/server.ts';
import { createModelClient, type ModelClient } from '../../../model/client.ts';
import { terminus2 } from '../../../scaffolds/terminus-2/index.ts';
import { openFilesystemStore } from '../../../store/filesystem.ts';
import type { Store } from '../../../store/port.ts';
import { plainTask } from '../../instruments/known-data.ts';
import { FakeSandbox, quiet } from '../fake-driver.ts';
import { agentSpec, chargedClock, openSession, openTerminal, unlessLost } from './recorded-scene.ts';

const sessionId = 's/plain/m/terminus-2/1/1/main';

/** A terminal that prints a page for the first that is typed, and the sentinel of a solution that ran. */
class Printing extends FakeSandbox {
  readonly typed: TerminalAction[] = [];

  override async terminal() {
    await super.terminal();
    return {
      act: (seq: number, actions: readonly TerminalAction[] = []) => {
        this.typed.push(...actions);
        const text = actions.map(({ keystrokes }) => keystrokes).join('');
        const tag = /DONE ([0-9a-f]{12})/.exec(text)?.[1];
        const pages = text !== '' && seq <= 4;
        const page = pages ? `${'0123456789'.repeat(800)}\n$` : '$';
        const fresh = tag === undefined ? page : `${page}\nPASSBAND-DONE-${tag} 0\n$`;
        return Promise.resolve({
          observation: { alive: true, fresh, screen: fresh.slice(-1_500) },
          wallMs: 1,
        });
      },
    };
  }
}

interface Played {
  readonly end: EpisodeEnd | null;
  readonly model: RecordedModel;
  readonly steps: readonly TrajectoryStep[];
  readonly sandbox: Printing;
  readonly chargedMs: number;
}

let folder: string;
let store: Store;
let server: KnownRateServer;
let client: ModelClient;
let served: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'passband-compacted-'));
  store = openFilesystemStore(folder);
  served = 0;
  server = await startKnownRateServer({
    tasks: [plainTask],
    models: ['known-rate-1'],
    seed: 1,
    maxModelLen: 9_000,
    faults: () => {
      served += 1;
      return null;
    },
  });
  client = createModelClient({
    url: server.url,
    servedName: 'known-rate-1',
    apiKey: null,
    sampling: {},
  });
});
afterEach(async () => {
  await client.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

/** One worker's try; `dieAt`: the model's call, from 0, before which the worker is lost. */
async function play(
  options: Readonly<Record<string, unknown>>,
  { dieAt = Infinity, generation = 1 } = {},
): Promise<Played> {
  const clock = chargedClock(600_000);
  const session = await openSession(store, `v1/sweeps/s/trials/plain/m/x/01/g00${generation}/`, { clock });
  const model: RecordedModel = new RecordedModel(session, {
    name: 'm',
    sessionId,
    attempt: 1,
    maxTokens: null,
    client: () =>
      model.replies.length >= dieAt ? Promise.reject(new Error('lost')) : Promise.resolve(client),
  });
  const sandbox = new Printing(agentSpec, quiet);
  const terminal = openTerminal(session, sandbox);
  const steps: TrajectoryStep[] = [];
  const end = await unlessLost(
    terminus2.episode(
      { instruction: 'Solve it.', solutionEnv: {}, options: terminus2.parseOptions(options) },
      { terminal, model, log: (step) => steps.push(step), keepMessages: () => undefined },
    ),
  );
  return { end, model, steps, sandbox, chargedMs: clock.chargedMs };
}

const compactionsOf = ({ steps }: Played) => steps.flatMap(({ compaction }) => compaction ?? []);
const reactive = { proactive_summarization_threshold: 0, max_turns: 30 };

describe('an episode that comes to the limit of its context', () => {
  it('is refused by the server, compacted, and goes on to its end', async () => {
    const played = await play(reactive);
    const [first] = compactionsOf(played);
    expect(first).toMatchObject({ trigger: 'overflow', outcome: 'summary', limitTokens: 8_999 });
    expect(played.model.replies.map(({ kind }) => kind)).toContain('overflow');
    expect(played.end?.ending).toBe('completed');
    expect(played.sandbox.typed.some(({ keystrokes }) => keystrokes.includes('/solve.sh'))).toBe(true);
  });

  it('is compacted before it is refused, where the threshold is met first', async () => {
    const played = await play({
      max_turns: 30,
      context_margins: 'reference',
      proactive_summarization_threshold: 4_000,
    });
    expect(compactionsOf(played)[0]).toMatchObject({ trigger: 'threshold', outcome: 'summary' });
    expect(played.model.replies.map(({ kind }) => kind)).not.toContain('overflow');
    expect(played.end?.ending).toBe('completed');
  });

  it('C70 C78: lost at any call of it, asks nothing twice and ends alike', async () => {
    const whole = await play(reactive);
    const calls = whole.model.replies.length;
    const [first] = compactionsOf(whole);
    // What overflowed is the call before the summary.
    const from = (first?.parts[0]?.call ?? 0) - 1;
    for (let dieAt = from; dieAt < from + 6; dieAt += 1) {
      served = 0;
      const generation = 2 + dieAt - from;
      const lost = await play(reactive, { dieAt, generation });
      expect([lost.end, lost.model.replies.length]).toStrictEqual([null, dieAt]);
      const next = await play(reactive, { generation });
      expect(next.end).toStrictEqual(whole.end);
      expect(next.model.replies.map(({ text }) => text)).toStrictEqual(
        whole.model.replies.map(({ text }) => text),
      );
      expect(next.sandbox.typed.length + lost.sandbox.typed.length).toBe(whole.sandbox.typed.length);
      // A refused prompt never comes to the faults: those are the replies.
      expect(served).toBe(whole.model.replies.filter(({ kind }) => kind === 'reply').length);
      expect(next.model.replies).toHaveLength(calls);
    }
  });

  it('leaves a trajectory of each question and, under linear history, files that follow one another', async () => {
    const { steps, model } = await play({ ...reactive, trajectory_config: { linear_history: true } });
    const files = trajectoriesOf({
      sessionId,
      agent: { name: terminus2.name, version: terminus2.version },
      modelName: 'm',
      options: {},
      instruction: 'Solve it.',
      steps,
      replies: model.replies,
    });
    const names = files.map(({ name }) => name);
    expect(names.slice(0, 2)).toStrictEqual(['trajectory.json', 'trajectory.cont-1.json']);
    for (const part of ['summary', 'questions', 'answers']) {
      expect(names).toContain(`trajectory.summarization-1-${part}.json`);
    }
    const own = files.filter(({ name }) => !name.includes('summarization'));
    const ids = own.flatMap(({ trajectory }) =>
      trajectory.steps.flatMap(({ metrics }) =>
        metrics === undefined ? [] : [metrics.completion_token_ids],
      ),
    );
    const parts = steps.flatMap(({ compaction }) => compaction?.parts ?? []);
    const answered = model.replies.filter(({ kind }) => kind === 'reply').length;
    expect(ids).toHaveLength(answered - parts.filter(({ answer }) => answer !== null).length);
  });
});
