// An episode over its records: what was done is not done again, what follows is, and one worker alone goes on.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AgentClock } from '../../../activities/episode/clock.ts';
import { TimeUp } from '../../../activities/episode/ending.ts';
import { RecordedModel } from '../../../activities/episode/recorded-model.ts';
import type { RecordedTerminal } from '../../../activities/episode/recorded-terminal.ts';
import { ClassifiedError } from '../../../domain/errors.ts';
import { observationKey, replyKey } from '../../../domain/layout.ts';
import { ReplyRecordSchema } from '../../../domain/episode.ts';
import type { RawAnswer } from '../../../model/answer.ts';
import type { AskInput } from '../../../model/client.ts';
import type { ModelProbe } from '../../../model/probe.ts';
import { openFilesystemStore } from '../../../store/filesystem.ts';
import { readJson } from '../../../store/objects.ts';
import type { Store } from '../../../store/port.ts';
import { FakeSandbox, quiet, type Behaviour } from '../fake-driver.ts';
import { agentSpec, chargedClock, openSession, openTerminal } from './recorded-scene.ts';

const prefix = 'v1/sweeps/s/trials/t/m/x/01/g001/';
const answer = (text: string, fields: Partial<RawAnswer> = {}): RawAnswer => ({
  kind: 'reply',
  text,
  reasoning: null,
  finishReason: 'stop',
  promptIds: null,
  completionIds: null,
  reasoningIds: null,
  logprobs: null,
  usage: { promptTokens: 3, completionTokens: 2, cachedTokens: null, estimated: false },
  times: { startedAt: '2026-01-01T00:00:00.000Z', firstTokenMs: 10, lastTokenMs: 110 },
  ...fields,
});

let folder: string;
let store: Store;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'passband-episode-'));
  store = openFilesystemStore(folder);
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

interface Ports {
  readonly model: RecordedModel;
  readonly terminal: RecordedTerminal;
  readonly sandbox: FakeSandbox;
  readonly clock: AgentClock;
  readonly asked: AskInput[];
}

interface PortOptions {
  readonly ask?: (input: AskInput, call: number) => Promise<RawAnswer>;
  readonly limitMs?: number;
  readonly attempt?: number;
  readonly signal?: AbortSignal;
  readonly behaviour?: Behaviour;
  readonly place?: string;
  readonly probe?: () => Promise<ModelProbe>;
  readonly maxTokens?: number;
}

async function ports(options: PortOptions = {}): Promise<Ports> {
  const clock = chargedClock(options.limitMs ?? 60_000);
  const session = await openSession(store, options.place ?? prefix, { ...options, clock });
  const asked: AskInput[] = [];
  const ask = options.ask ?? ((_input: AskInput, call: number) => Promise.resolve(answer(`reply ${call}`)));
  const model = new RecordedModel(session, {
    name: 'm',
    sessionId: 's/t/m/x/1/1/main',
    attempt: 1,
    maxTokens: options.maxTokens ?? null,
    client: () =>
      Promise.resolve({
        ask: (input: AskInput) => {
          asked.push(input);
          return ask(input, asked.length - 1);
        },
        tokenize: () => Promise.reject(new Error('nobody asks for ids')),
        probe: options.probe ?? (() => Promise.resolve({ contextTokens: 4_096 })),
      }),
  });
  const sandbox = new FakeSandbox(agentSpec, options.behaviour ?? quiet);
  const terminal = openTerminal(session, sandbox, { seqBase: 4 });
  return { model, terminal, sandbox, clock, asked };
}

const say = (content: string) => [{ role: 'user' as const, content }];
const type = (keystrokes: string) => [{ keystrokes, durationMs: 1 }];
const command = (...argv: string[]) => ({ argv, env: {}, timeoutMs: null });

describe('a worker that goes on where another one was lost', () => {
  it('C78: makes no call again that has its record, and charges it all the same', async () => {
    const lost = await ports();
    await lost.model.ask(say('a'));
    await lost.terminal.act(type('ls\n'));
    await lost.model.ask(say('b'));
    const next = await ports();
    const replayed = await next.model.ask(say('a'));
    await next.terminal.act(type('ls\n'));
    await next.model.ask(say('b'));
    expect(replayed).toMatchObject({ kind: 'reply', text: 'reply 0' });
    expect([next.asked.length, next.sandbox.asked]).toEqual([0, []]);
    expect(next.clock.chargedMs).toBe(lost.clock.chargedMs);
    await next.terminal.act(type('cat x\n'));
    expect(next.sandbox.asked).toEqual(['terminal', 'act 6']);
  });

  it('C70: leaves every finished turn in the store', async () => {
    const { model, terminal } = await ports();
    await model.ask(say('a'));
    await terminal.act(type('ls\n'));
    expect(await store.get(replyKey(prefix, 0, 0))).not.toBeNull();
    expect(await store.get(observationKey(prefix, 0, 0))).not.toBeNull();
  });

  it('keeps how long a request waited in the queue of its endpoint, and charges nothing for it', async () => {
    const times = {
      startedAt: '2026-01-01T00:00:00.000Z',
      queuedMs: 5_000,
      firstTokenMs: 10,
      lastTokenMs: 110,
    };
    const { model, clock } = await ports({ ask: () => Promise.resolve(answer('a', { times })) });
    await model.ask(say('a'));
    expect(await readJson(store, replyKey(prefix, 0, 0), ReplyRecordSchema)).toMatchObject({
      times: { queuedMs: 5_000 },
    });
    expect(clock.chargedMs).toBe(100);
  });

  it('stops where it would ask something else: the episode is not deterministic', async () => {
    await (await ports()).model.ask(say('a'));
    const next = await ports();
    await expect(next.model.ask(say('other'))).rejects.toMatchObject({ failureClass: 'Unexpected' });
    expect(next.asked).toEqual([]);
  });

  it('counts as earlier tries those of the activity that failed at this call', async () => {
    await (await ports()).model.ask(say('a'));
    const third = await ports({ attempt: 3 });
    await third.model.ask(say('a'));
    await third.model.ask(say('b'));
    await third.model.ask(say('c'));
    expect(third.model.replies.map(({ times }) => times.earlierTries)).toEqual([0, 2, 0]);
  });

  it('makes the same calls over any part of the records', async () => {
    const scripts = fc.array(fc.constantFrom('ask', 'act', 'run'), { minLength: 1, maxLength: 6 });
    let place = 0;
    await fc.assert(
      fc.asyncProperty(scripts, fc.nat(5), async (script, cut) => {
        place += 1;
        const at = `v1/sweeps/s/trials/t${place}/m/x/01/g001/`;
        const play = async ({ model, terminal }: Ports, length: number): Promise<unknown[]> => {
          const seen: unknown[] = [];
          for (const [index, act] of script.slice(0, length).entries()) {
            if (act === 'ask') seen.push(await model.ask(say(String(index))));
            if (act === 'act') seen.push(await terminal.act(type(String(index))));
            if (act === 'run') seen.push(await terminal.run(command(String(index))));
          }
          return seen;
        };
        const first = await ports({ place: at });
        const before = await play(first, cut);
        const again = await ports({ place: at });
        const whole = await play(again, script.length);
        expect(whole.slice(0, before.length)).toEqual(before);
        const doneOnce = first.asked.length + again.asked.length;
        expect(doneOnce).toBe(script.filter((act) => act === 'ask').length);
      }),
      { numRuns: 25 },
    );
  });
});

describe('what serves the model', () => {
  const serving = { root: 'org/m', parent: null, contextTokens: 4_096, serverVersion: '0.32.0' };

  it('is asked before the first reply, once, and told from its record by whoever goes on', async () => {
    const probe = (): Promise<ModelProbe> => Promise.resolve({ contextTokens: 4_096, serving });
    const lost = await ports({ probe });
    await lost.model.ask(say('a'));
    expect(await lost.model.serving()).toEqual(serving);
    const other = { ...serving, serverVersion: '0.33.0' };
    const next = await ports({ probe: () => Promise.resolve({ contextTokens: 8_192, serving: other }) });
    await next.model.ask(say('a'));
    await next.model.ask(say('b'));
    expect(await next.model.serving()).toEqual(serving);
    expect(await next.model.promptTokensLimit()).toBe(4_095);
  });

  it('is nothing where nothing was asked, or the server does not tell', async () => {
    const { model } = await ports();
    expect(await model.serving()).toBeUndefined();
    await model.ask(say('a'));
    expect(await model.serving()).toBeUndefined();
  });
});

describe('the tokens that a prompt may have', () => {
  it('are the context less the reply that the sampling asks for, asked of the server once an episode', async () => {
    let probes = 0;
    const probe = (): Promise<ModelProbe> => {
      probes += 1;
      return Promise.resolve({ contextTokens: 4_096 * probes });
    };
    const lost = await ports({ probe });
    expect([await lost.model.promptTokensLimit(), await lost.model.promptTokensLimit()]).toEqual([
      4_095, 4_095,
    ]);
    const next = await ports({ probe, maxTokens: 1_000 });
    expect([await next.model.promptTokensLimit(), await next.model.promptTokensLimit()]).toEqual([
      3_096, 3_096,
    ]);
    expect(probes).toBe(1);
    expect(next.clock.chargedMs).toBe(0);
  });

  it('are not known where the server does not tell', async () => {
    const { model } = await ports({ probe: () => Promise.resolve({ contextTokens: null }) });
    expect(await model.promptTokensLimit()).toBeNull();
  });

  it.each(['Forbidden', 'ModelNotFound'] as const)(
    'are no less asked for where the server says %s now: nothing is recorded that it did not tell',
    async (failure) => {
      const lost = await ports({ probe: () => Promise.reject(new ClassifiedError(failure, 'not now')) });
      await expect(lost.model.promptTokensLimit()).rejects.toMatchObject({
        failureClass: 'ModelUnavailable',
        message: 'not now',
      });
      const asking = await ports({ probe: () => Promise.reject(new ClassifiedError(failure, 'not now')) });
      expect(await asking.model.ask(say('a'))).toMatchObject({ kind: 'reply' });
      expect(await (await ports()).model.promptTokensLimit()).toBe(4_095);
    },
  );

  it('are asked for again where the server was not there', async () => {
    const away = await ports({
      probe: () => Promise.reject(new ClassifiedError('ModelUnavailable', 'away')),
    });
    await expect(away.model.promptTokensLimit()).rejects.toThrow('away');
    expect(await (await ports()).model.promptTokensLimit()).toBe(4_095);
  });

  it('are told by an overflow whose message tells the context', async () => {
    const message = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens";
    const ask = () => Promise.resolve(answer(message, { kind: 'overflow' }));
    const { model } = await ports({ maxTokens: 96, ask });
    expect(await model.ask(say('a'))).toEqual({ kind: 'overflow', message, promptTokensLimit: 4_000 });
  });
});

describe('the fence against a second worker', () => {
  it('the one whose reply comes second goes on from the reply that stands', async () => {
    const [zombie, live] = [await ports({ ask: () => Promise.resolve(answer('zombie')) }), await ports()];
    expect(await zombie.model.ask(say('a'))).toMatchObject({ text: 'zombie' });
    // The rightful worker has opened its records before: it asks, loses the write, and takes what was written.
    expect(await live.model.ask(say('a'))).toMatchObject({ text: 'zombie' });
    expect(live.asked).toHaveLength(1);
    expect(live.clock.chargedMs).toBe(zombie.clock.chargedMs);
    // From then on it looks first.
    await zombie.terminal.act(type('ls\n'));
    await zombie.model.ask(say('b'));
    await live.terminal.act(type('ls\n'));
    expect(await live.model.ask(say('b'))).toMatchObject({ text: 'zombie' });
    expect([live.asked.length, live.sandbox.asked]).toEqual([1, []]);
  });

  it('the one whose observation comes second goes on from the observation that stands', async () => {
    const slow: Behaviour = { ...quiet, onRun: () => ({ wallMs: 700 }) };
    const [first, second] = [await ports(), await ports({ behaviour: slow })];
    await first.terminal.run(command('make'));
    await second.terminal.run(command('make'));
    expect([first.clock.chargedMs, second.clock.chargedMs]).toEqual([5, 5]);
  });

  it('stops the one that has asked something else, before anything follows from it', async () => {
    const [zombie, live] = [await ports(), await ports({ ask: () => Promise.resolve(answer('other')) })];
    await live.model.ask(say('a'));
    await expect(zombie.model.ask(say('b'))).rejects.toMatchObject({
      failureClass: 'Unexpected',
      message: expect.stringContaining('another worker') as string,
    });
    await expect(zombie.terminal.act(type('rm x\n'))).rejects.toThrow('another worker');
    expect(zombie.sandbox.asked).toEqual([]);
    const stands = await readJson(store, replyKey(prefix, 0, 0), ReplyRecordSchema);
    expect(stands?.text).toBe('other');
  });
});

describe("the agent's time", () => {
  it('C01: cuts a reply that is still running when the time is up, and charges exactly the limit', async () => {
    const { model, clock } = await ports({
      limitMs: 50,
      ask: async (input) => {
        for (;;) {
          input.onToken?.();
          input.signal?.throwIfAborted();
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      },
    });
    await expect(model.ask(say('a'))).rejects.toBeInstanceOf(TimeUp);
    expect([clock.chargedMs, model.replies]).toEqual([50, []]);
    const cut = await readJson(store, replyKey(prefix, 0, 0), ReplyRecordSchema);
    expect(cut).toMatchObject({ kind: 'cut', text: '' });
    // A worker that goes on asks for no reply that it might get in time.
    const next = await ports({ limitMs: 50 });
    await expect(next.model.ask(say('a'))).rejects.toBeInstanceOf(TimeUp);
    expect([next.asked, next.clock.chargedMs]).toEqual([[], 50]);
  });

  it('cuts no reply of a server that has gone silent: its stream broke, and the turn is asked again', async () => {
    const silent = await ports({
      limitMs: 20,
      ask: async (input) => {
        input.onToken?.();
        await new Promise((resolve) => setTimeout(resolve, 60));
        input.signal?.throwIfAborted();
        throw new ClassifiedError('ModelUnavailable', 'the next token did not come within 60 s');
      },
    });
    await expect(silent.model.ask(say('a'))).rejects.toMatchObject({ failureClass: 'ModelUnavailable' });
    expect(await readJson(store, replyKey(prefix, 0, 0), ReplyRecordSchema)).toBeNull();
    const next = await ports({ limitMs: 20 });
    expect(await next.model.ask(say('a'))).toMatchObject({ kind: 'reply' });
  });

  it('does not run before the first token', async () => {
    const { model } = await ports({
      limitMs: 20,
      ask: async (input) => {
        await new Promise((resolve) => setTimeout(resolve, 60));
        input.onToken?.();
        return answer('late', { times: { startedAt: '', firstTokenMs: 60, lastTokenMs: 61 } });
      },
    });
    expect(await model.ask(say('a'))).toMatchObject({ text: 'late' });
  });

  it('gives a command what is left, and no call after it is up', async () => {
    const timeouts: (number | null)[] = [];
    const { terminal, model, asked } = await ports({
      limitMs: 1_000,
      behaviour: {
        ...quiet,
        onRun: ({ timeoutMs }) => {
          timeouts.push(timeoutMs);
          return { timedOut: true, wallMs: 1_000, exitCode: 137 };
        },
      },
    });
    expect(await terminal.run(command('sleep', '600'))).toMatchObject({ timedOut: true });
    await expect(model.ask(say('a'))).rejects.toBeInstanceOf(TimeUp);
    expect([timeouts, asked.length]).toEqual([[1_000], 0]);
  });

  it("C24 C63: a command's own, shorter limit is a result and no end of the episode", async () => {
    const timeouts: (number | null)[] = [];
    const { terminal, model } = await ports({
      behaviour: {
        ...quiet,
        onRun: ({ timeoutMs }) => {
          timeouts.push(timeoutMs);
          return { timedOut: true, wallMs: 180, exitCode: 137 };
        },
      },
    });
    expect(await terminal.run({ ...command('sleep', '600'), timeoutMs: 180 })).toMatchObject({
      timedOut: true,
    });
    expect(await model.ask(say('a'))).toMatchObject({ kind: 'reply' });
    expect(timeouts).toEqual([180]);
  });
});

describe('what ends an episode from outside', () => {
  it('a failure of the model is every later call too, and leaves no record', async () => {
    const broken = new ClassifiedError('StreamBroken', 'the stream was cut');
    const { model, terminal, sandbox } = await ports({ ask: () => Promise.reject(broken) });
    await expect(model.ask(say('a'))).rejects.toBe(broken);
    await expect(terminal.act(type('x'))).rejects.toBe(broken);
    expect(sandbox.asked).toEqual([]);
    expect(await store.get(replyKey(prefix, 0, 0))).toBeNull();
  });

  it('cancellation aborts a running request with its own reason', async () => {
    const cancelled = new AbortController();
    const { model } = await ports({
      signal: cancelled.signal,
      ask: (input) =>
        new Promise((_resolve, reject) => {
          input.signal?.addEventListener('abort', () => reject(input.signal?.reason as Error));
          cancelled.abort(new Error('cancelled'));
        }),
    });
    await expect(model.ask(say('a'))).rejects.toThrow('cancelled');
  });

  it('an overflow is an answer, recorded as one', async () => {
    const overflow = answer('this model has at most 4096 tokens', { kind: 'overflow' });
    const { model } = await ports({ ask: () => Promise.resolve(overflow) });
    expect(await model.ask(say('a'))).toEqual({
      kind: 'overflow',
      message: 'this model has at most 4096 tokens',
    });
  });
});
