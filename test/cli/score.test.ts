// Scoring over real HTTP: every sampled id of a stored trial gets its logprob, and what is not scored is said by name.
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scoreCommand } from '../../cli/score.ts';
import { idLines } from '../../cli/trial-ids.ts';
import { generationPrefix, planKey, trialPrefix, verdictKey } from '../../domain/layout.ts';
import { SequenceScoreSchema } from '../../domain/score.ts';
import { PlanSchema, trialInPlan, type TrialInPlan } from '../../domain/sweep.ts';
import { VerdictSchema, type Verdict } from '../../domain/verdict.ts';
import { startKnownRateServer, type KnownRateServer } from '../../instruments/known-rate/server.ts';
import { encode, endToken, renderChat } from '../../instruments/known-rate/tokens.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';
import { idsChecksum } from '../../store/ids-checksum.ts';
import { putJsonOnce } from '../../store/objects.ts';
import type { Store } from '../../store/port.ts';
import { startScriptedServer, type ScriptedServer } from '../model/scripted-server.ts';
import { putReplies, replyRecords, type Said } from '../support/reply-records.ts';
import { planOf, verdictOf } from '../support/sweep-data.ts';

let folder: string;
let store: Store;
let teacher: KnownRateServer;
let scripted: ScriptedServer | null;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'passband-score-'));
  store = openFilesystemStore(join(folder, 'store'));
  teacher = await startKnownRateServer({ tasks: [], models: ['known-rate-1'], seed: 1, maxModelLen: 400 });
  scripted = null;
});
afterEach(async () => {
  process.exitCode = undefined;
  await teacher.close();
  await scripted?.close();
  await rm(folder, { recursive: true, force: true });
});

const words = 'I look at the files first, and then I write them.';
const completion = [...encode(words), endToken];
const prompt = renderChat([{ role: 'user', content: 'Do it.' }]);
const second = renderChat([
  { role: 'user', content: 'Do it.' },
  { role: 'assistant', content: words },
  { role: 'user', content: 'go on' },
]);
const fields = { text: words };
const whole: Said[] = [
  { prompt, completion, fields },
  { prompt: second, completion, fields },
];

/** One counted trial for each list of turns; null: its trial has no verdict. */
async function sweepOf(...episodes: (readonly Said[] | null)[]): Promise<TrialInPlan[]> {
  const plan = planOf({ sweep: 's', tasks: 1, models: { m: episodes.length } });
  await putJsonOnce(store, planKey('s'), PlanSchema, plan);
  const trials = episodes.map((_, index) => trialInPlan(plan, index));
  for (const [index, trial] of trials.entries()) {
    const turns = episodes[index];
    if (!turns) continue;
    await putReplies(store, generationPrefix(trialPrefix(trial.path), 1), replyRecords(turns));
    await putJsonOnce(store, verdictKey(trial.path), VerdictSchema, verdictOf(trial, 'passed'));
  }
  return trials;
}

interface Ran {
  readonly stdout: string;
  readonly error: unknown;
}

async function run(...args: string[]): Promise<Ran> {
  const write = process.stdout.write.bind(process.stdout);
  let stdout = '';
  process.stdout.write = (text: string | Uint8Array) => {
    stdout += String(text);
    return true;
  };
  const flags = ['--endpoint', teacher.url, '--model', 'known-rate-1', '--store', join(folder, 'store')];
  try {
    await scoreCommand()
      .exitOverride()
      .parseAsync(['s', ...flags, ...args], { from: 'user' });
    return { stdout, error: null };
  } catch (error) {
    return { stdout, error };
  } finally {
    process.stdout.write = write;
  }
}

const file = (): string => join(folder, 'scores.jsonl');
async function written() {
  const lines = (await readFile(file(), 'utf8')).trimEnd().split('\n');
  return lines.map((line) => SequenceScoreSchema.parse(JSON.parse(line)));
}

describe('passband score', () => {
  it('gives every sampled id of an unbroken episode its logprob, in one sequence', async () => {
    await sweepOf(whole);
    const { stdout, error } = await run('--out', file(), '--json');
    expect([error, process.exitCode ?? 0]).toEqual([null, 0]);
    const [line, ...others] = await written();
    expect(others).toEqual([]);
    const ids = [...second, ...completion];
    expect(line).toMatchObject({
      outcome: 'scored',
      sequence: 0,
      brokenBy: null,
      ids: { count: ids.length, sha256: idsChecksum(ids) },
    });
    expect(line?.completions.map(({ call, from }) => [call, from])).toEqual([
      [0, prompt.length],
      [1, second.length],
    ]);
    for (const one of line?.completions ?? []) {
      expect(one.ids).toEqual(completion);
      expect(one.sampled).toHaveLength(completion.length);
      // As the server makes them: by the id and its place.
      expect(one.teacher).toEqual(
        one.ids.map((id, at) => -(((id * 31 + (one.from + at) * 17) % 997) / 1000)),
      );
    }
    expect(JSON.parse(stdout)).toMatchObject({
      format: 'passband.scores',
      version: 1,
      trials: [{ sequences: 1, scored: 1, tokens: 2 * completion.length, reason: null }],
    });
    expect(await readdir(folder)).toEqual(['scores.jsonl', 'store']);
  });

  it('scores each piece between two breaks by itself', async () => {
    const [trial] = await sweepOf([...whole, { prompt: prompt.slice(0, -2), completion, fields }]);
    const { stdout, error } = await run('--json');
    expect(error).toBeNull();
    const { scores } = JSON.parse(stdout) as { scores: { sequence: number; brokenBy: object | null }[] };
    expect(scores.map(({ sequence, brokenBy }) => [sequence, brokenBy])).toEqual([
      [0, null],
      [1, { call: 2, index: prompt.length - 2, cause: 'history-changed' }],
    ]);
    if (trial === undefined) throw new Error('no trial');
    const verdict = verdictOf(trial, 'passed');
    const tokenIds = { exact: 3, breaks: { 'history-changed': 1 } };
    const steps = verdict.steps.map((step): Verdict['steps'][number] => ({
      ...step,
      episode: step.episode === null ? null : { ...step.episode, turns: 3, tokenIds },
    }));
    expect(await idLines(store, { trial, verdict: { ...verdict, steps } })).toEqual([
      'token ids of step main: exact in 3 of 3 replies, breaks: history-changed 1',
      `  reply 2: its prompt breaks at id ${prompt.length - 2}: history-changed`,
    ]);
  });

  it('says by name what cannot be scored, keeps what can, and exits 3', async () => {
    const long = Array.from({ length: 400 }, () => completion[0] ?? 0);
    await sweepOf(
      [{ prompt: long, completion, fields }],
      [{ prompt: [70_000, ...prompt], completion, fields }],
      [{ prompt, completion: encode('something else altogether, and as long'), fields }],
      [{ prompt, completion: null, fields }],
      whole,
    );
    const { stdout, error } = await run('--out', file());
    expect([error, process.exitCode]).toEqual([null, 3]);
    expect((await written()).map(({ outcome }) => outcome)).toEqual([
      'context-too-long',
      'out-of-vocabulary',
      'another-tokenizer',
      'scored',
    ]);
    expect(stdout).toContain('maximum context length is 400');
    expect(stdout).toContain('Token id 70000 is out of vocabulary');
    expect(stdout).toContain('1 replies came without their ids');
  });

  it('refuses an endpoint that gives no prompt_logprobs, in one line, and leaves the file as it was', async () => {
    await sweepOf(whole);
    scripted = await startScriptedServer();
    const to = ['--endpoint', scripted.url, '--out', file()];
    scripted.use((response) => {
      response.end(JSON.stringify({ choices: [{ text: 'x' }] }));
    });
    expect((await run(...to)).error).toMatchObject({
      failureClass: 'ConfigInvalid',
      message: expect.stringContaining('gives none') as string,
    });
    scripted.use((response) => {
      response.writeHead(400);
      response.end(JSON.stringify({ error: { message: 'prompt_logprobs is not supported' } }));
    });
    expect((await run(...to)).error).toMatchObject({
      failureClass: 'ConfigInvalid',
      message: expect.stringContaining('prompt_logprobs is not supported') as string,
    });
    expect(await readdir(folder)).toEqual(['store']);
  });

  it('asks again where the endpoint is away for a moment', async () => {
    await sweepOf(whole);
    scripted = await startScriptedServer();
    let asked = 0;
    scripted.use(async (response, { body }) => {
      asked += 1;
      if (asked === 1) {
        response.writeHead(503).end();
        return;
      }
      const answer = await fetch(`${teacher.url}/completions`, { method: 'POST', body });
      response.end(await answer.text());
    });
    expect((await run('--endpoint', scripted.url, '--out', file())).error).toBeNull();
    expect([asked, (await written()).map(({ outcome }) => outcome)]).toEqual([2, ['scored']]);
  });

  it('keeps what was scored beside the file where the endpoint goes away, and an earlier file as it was', async () => {
    await sweepOf(whole, whole);
    scripted = await startScriptedServer();
    let asked = 0;
    scripted.use(async (response, { body }) => {
      asked += 1;
      if (asked > 1) {
        response.destroy();
        return;
      }
      const answer = await fetch(`${teacher.url}/completions`, { method: 'POST', body });
      response.end(await answer.text());
    });
    await writeFile(file(), 'an earlier one');
    const args = ['--endpoint', scripted.url, '--out', file(), '--concurrency', '1'];
    expect((await run(...args)).error).toMatchObject({ failureClass: 'ModelUnavailable' });
    expect(await readFile(file(), 'utf8')).toBe('an earlier one');
    expect((await readFile(`${file()}.partial`, 'utf8')).trim().split('\n')).toHaveLength(1);
  });

  it('refuses a trial without ids, in one line', async () => {
    await sweepOf([{ prompt, completion: null, fields }]);
    const { error, stdout } = await run('--out', file());
    expect(error).toMatchObject({ exitCode: 2, message: expect.stringContaining('exact ids') as string });
    expect([stdout, await readdir(folder)]).toEqual(['', ['store']]);
  });

  it('refuses what it cannot find, in one line each', async () => {
    await sweepOf(whole, null);
    const messageOf = async (...args: string[]): Promise<unknown> =>
      ((await run(...args)).error as Error | null)?.message;
    expect(await messageOf('org/none/m/terminus-2/1')).toMatch(/has no trial org\/none/);
    expect(await messageOf('org/task-0000/m/terminus-2/2')).toMatch(/has no verdict/);
    expect(await messageOf('--key-env', 'PASSBAND_TEST_NO_SUCH_KEY')).toMatch(/is not set/);
    expect(await messageOf('--endpoint', 'ftp://x')).toMatch(/no http\(s\) URL/);
    expect(await messageOf('--out', join(folder, 'none', 'x'))).toMatch(/cannot be written/);
  });
});
