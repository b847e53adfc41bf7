// The scaffold's own time a turn: from a reply's last token to the next request, less the durations that the model asked for.
// node bench/turn.ts [--trials N] [--kubernetes FILE] [--json]
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ObservationRecordSchema, type ReplyRecord } from '../domain/episode.ts';
import { generationPrefix, observationKey, replyKey, trialPrefix } from '../domain/layout.ts';
import { readJson } from '../store/objects.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/port.ts';
import { readReply } from '../store/replies.ts';
import { readPlan, trialsOf } from '../store/verdicts.ts';

const { values } = parseArgs({
  options: {
    trials: { type: 'string', default: '10' },
    /** Of the Kubernetes driver; unset: the container engine. */
    kubernetes: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const root = fileURLToPath(new URL('..', import.meta.url));
const goalMs = 20;

/** A sweep of trials that are all solved, one at a time. */
async function sweep(storeDir: string): Promise<void> {
  const flags = [
    '--model',
    'known-rate-1',
    '--attempts',
    values.trials,
    '--concurrency',
    '1',
    '--name',
    'bench',
    '--store',
    storeDir,
    ...(values.kubernetes === undefined
      ? []
      : ['--sandbox', 'kubernetes', '--kubernetes', values.kubernetes]),
  ];
  const args = [
    'cli/main.ts',
    'sweep',
    'start',
    '--tasks',
    path.join(root, 'examples/tasks/access-report'),
    ...flags,
  ];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`the sweep ended with ${String(code)}`);
}

/** Own milliseconds of each turn of one episode: observation n + 1 answers reply n (observation 0 is the first look). */
async function ownTimes(store: Store, generation: string): Promise<number[]> {
  const own: number[] = [];
  let reply: ReplyRecord | null = await readReply(store, replyKey(generation, 0, 0));
  for (let call = 0; reply !== null; call += 1) {
    const next: ReplyRecord | null = await readReply(store, replyKey(generation, 0, call + 1));
    const observation = await readJson(
      store,
      observationKey(generation, 0, call + 1),
      ObservationRecordSchema,
    );
    if (next !== null && observation !== null) {
      const asked = observation.actions.reduce((sum, action) => sum + action.durationMs, 0);
      const ended = Date.parse(reply.times.startedAt) + reply.times.lastTokenMs;
      own.push(Date.parse(next.times.startedAt) - ended - asked);
    }
    reply = next;
  }
  return own;
}

const storeDir = await mkdtemp(path.join(tmpdir(), 'passband-bench-'));
try {
  await sweep(storeDir);
  const store = await openStore(storeDir, process.env);
  const times: number[] = [];
  for (const { path: trial } of trialsOf(await readPlan(store, 'bench'))) {
    times.push(...(await ownTimes(store, generationPrefix(trialPrefix(trial), 1))));
  }
  await store.close();
  times.sort((a, b) => a - b);
  const at = (share: number): number => Math.round((times[Math.floor(times.length * share)] ?? 0) * 10) / 10;
  const report = { turns: times.length, medianMs: at(0.5), p90Ms: at(0.9), goalMs, ratio: at(0.5) / goalMs };
  if (values.json) console.log(JSON.stringify(report));
  else
    console.log(
      `own time of ${report.turns} turns: median ${report.medianMs} ms, p90 ${report.p90Ms} ms (goal: median at most ${goalMs} ms)`,
    );
  if (report.medianMs > goalMs) process.exitCode = 1;
} finally {
  await rm(storeDir, { recursive: true, force: true });
}
