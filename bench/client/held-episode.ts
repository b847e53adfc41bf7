// The memory of one long episode as a worker holds it: client, recorded model, chain of ids, chat and trajectory.
// node --expose-gc held-episode.ts URL TOKENS A-MESSAGE
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AgentClock } from '../../activities/episode/clock.ts';
import { RecordedModel } from '../../activities/episode/recorded-model.ts';
import { EpisodeSession } from '../../activities/episode/session.ts';
import { trajectoriesOf } from '../../activities/episode/trajectories.ts';
import { TurnRecords } from '../../activities/episode/turn-records.ts';
import type { ChatMessage, TrajectoryStep } from '../../domain/ports.ts';
import { Admission } from '../../model/admission.ts';
import { createReplicatedClient } from '../../model/replicas.ts';
import { openFilesystemStore } from '../../store/filesystem.ts';

const [url = '', contextTokens = '262144', messageTokens = '1024'] = process.argv.slice(2);
const each = Number(messageTokens);
const words = ' word'.repeat(each);

/** What lives, after a collection, in bytes. */
function held(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const client = createReplicatedClient({
  urls: [url],
  servedName: `episode-${messageTokens}`,
  apiKey: null,
  sampling: { temperature: 1 },
  admissionOf: () => new Admission({ maximum: null, onCircuit: () => undefined }),
});
const folder = await mkdtemp(path.join(tmpdir(), 'passband-bench-'));

/** One episode of so many turns: the most that was held at a look, and after its end with all of its documents made. */
async function play(turns: number, prefix: string): Promise<{ most: number; ids: number }> {
  const begun = held();
  let most = 0;
  const look = (): void => {
    most = Math.max(most, held() - begun);
  };
  let calls = 0;
  const session = new EpisodeSession({
    records: await TurnRecords.open(openFilesystemStore(folder), prefix, 0),
    clock: new AgentClock({ limitMs: 86_400_000, kind: 'charged', tokensPerSecond: null }),
    signal: new AbortController().signal,
    attempt: 1,
    now: () => new Date(),
    beat: () => undefined,
  });
  const model = new RecordedModel(session, {
    name: 'm',
    sessionId: 'bench/task/m/terminus-2/1/1/main',
    attempt: 1,
    maxTokens: null,
    client: () =>
      Promise.resolve({
        probe: (signal, sessionId) => client.probe(signal, sessionId),
        tokenize: (input) => client.tokenize(input),
        ask: (input) =>
          client.ask({
            ...input,
            onFirstToken: () => {
              // With the whole prompt's ids read and nothing of them let go yet.
              if (calls % 16 === 0 || calls === turns) look();
            },
          }),
      }),
  });
  const messages: ChatMessage[] = [{ role: 'user', content: words }];
  const steps: TrajectoryStep[] = [{ source: 'user', message: words }];
  while (calls < turns) {
    calls += 1;
    const answer = await model.ask(messages);
    if (answer.kind !== 'reply') throw new Error(`no reply: ${answer.message}`);
    const observation = `${calls}${words}`;
    messages.push({ role: 'assistant', content: answer.text }, { role: 'user', content: observation });
    steps.push({ source: 'agent', message: answer.text, observation, call: calls - 1 });
  }
  look();
  const last = model.replies.at(-1);
  const ids = (last?.promptIds?.prefixLength ?? 0) + (last?.promptIds?.suffix.length ?? 0) + each;
  if (model.replies.some(({ promptIds }) => promptIds?.extends !== true))
    throw new Error('a chain of ids broke');
  const documents = trajectoriesOf({
    sessionId: 's',
    agent: { name: 'bench', version: '1' },
    modelName: 'm',
    options: {},
    instruction: words,
    steps,
    replies: model.replies,
  });
  JSON.stringify(documents);
  return { most, ids };
}

try {
  await play(4, 'v1/sweeps/s/trials/t/m/x/01/g001/');
  globalThis.gc?.();
  const rssBefore = process.memoryUsage.rss();
  let rss = rssBefore;
  const timer = setInterval(() => {
    rss = Math.max(rss, process.memoryUsage.rss());
  }, 10);
  const { most, ids } = await play(Number(contextTokens) / each / 2, 'v1/sweeps/s/trials/t/m/x/02/g001/');
  clearInterval(timer);
  console.log(JSON.stringify({ ids, heldBytes: most, rssBytes: rss - rssBefore }));
} finally {
  await client.close();
  await rm(folder, { recursive: true, force: true });
}
