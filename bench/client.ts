// What the model client costs: its speed over a raw curl of the same stream, the CPU of many streams, and the memory of one
// long episode as a worker holds it. The server is a process of its own.
// node bench/client.ts [--rounds N] [--only speed,streams,memory] [--json]
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Admission } from '../model/admission.ts';
import { createReplicatedClient } from '../model/replicas.ts';
import { median } from './median.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: 'speed,streams,memory' },
    json: { type: 'boolean', default: false },
  },
});
const goals = { speed: 0.95, corePercent: 60, grownMiB: 64 };
/** A fast server's speed for one reply; real ones give 20 to 300 tokens a second. */
const recorded = { tokensPerSecond: 1_000, tokens: 4_000 };
const unpaced = { tokensPerSecond: 0, tokens: 40_000 };
const many = { streams: 64, tokensPerSecond: 50, seconds: 20 };
const episode = { tokens: 262_144, messageTokens: 1_024 };
/** A heap with little room for garbage: what the process grows by is then what the episode needs. */
const tightHeap = ['--expose-gc', '--max-old-space-size=128', '--max-semi-space-size=4'];
const mebibyte = 1024 ** 2;

type Stream = typeof recorded;
const nameOf = ({ tokensPerSecond, tokens }: Stream): string => `stream-${tokensPerSecond}-${tokens}`;

function run(args: readonly string[]): ChildProcess & { readonly stdout: NodeJS.ReadableStream } {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  return child;
}

const fileOf = (name: string): string => fileURLToPath(new URL(`client/${name}`, import.meta.url));

async function firstLine(child: { readonly stdout: NodeJS.ReadableStream }): Promise<string> {
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return line;
}

/** Tokens a second through the client. */
async function throughClient(url: string, stream: Stream, streams = 1): Promise<number> {
  const client = createReplicatedClient({
    urls: [url],
    servedName: nameOf(stream),
    apiKey: null,
    sampling: {},
    admissionOf: () => new Admission({ maximum: null, onCircuit: () => undefined }),
  });
  const started = performance.now();
  const answers = await Promise.all(
    Array.from({ length: streams }, (_, n) =>
      client.ask({ messages: [{ role: 'user', content: 'go' }], sessionId: `s/${n}`, attempt: 1 }),
    ),
  );
  const elapsedMs = performance.now() - started;
  await client.close();
  for (const { completionIds, logprobs } of answers) {
    if (completionIds?.length !== stream.tokens || logprobs?.length !== stream.tokens) {
      throw new Error('the client lost ids or logprobs on the way');
    }
  }
  return (streams * stream.tokens) / (elapsedMs / 1_000);
}

/** Tokens a second through curl, which reads nothing of them. */
async function throughCurl(url: string, stream: Stream): Promise<number> {
  const body = JSON.stringify({
    model: nameOf(stream),
    messages: [{ role: 'user', content: 'go' }],
    stream: true,
  });
  const flags = ['-sSN', '-o', '/dev/null', '-w', '%{time_total}\n', '-H', 'content-type: application/json'];
  const curl = spawn('curl', [...flags, '-d', body, `${url}/v1/chat/completions`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return stream.tokens / Number(await firstLine(curl));
}

/** Both by turns, so that a busy machine slows them alike. */
async function compare(
  url: string,
  stream: Stream,
): Promise<{ client: number; curl: number; ratio: number }> {
  const rounds: { client: number; curl: number }[] = [];
  for (let round = 0; round < Number(values.rounds); round += 1) {
    rounds.push({ curl: await throughCurl(url, stream), client: await throughClient(url, stream) });
  }
  return {
    client: Math.round(median(rounds.map(({ client }) => client))),
    curl: Math.round(median(rounds.map(({ curl }) => curl))),
    ratio: median(rounds.map(({ client, curl }) => client / curl)),
  };
}

/** Percent of one core that this process takes while so many streams come in. */
async function coreOfMany(url: string): Promise<number> {
  const stream = { tokensPerSecond: many.tokensPerSecond, tokens: many.tokensPerSecond * many.seconds };
  const before = process.cpuUsage();
  const started = performance.now();
  await throughClient(url, stream, many.streams);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 10 / (performance.now() - started);
}

interface Held {
  readonly ids: number;
  readonly heldBytes: number;
  readonly rssBytes: number;
}

async function memoryOfEpisode(url: string): Promise<Held> {
  const { tokens, messageTokens } = episode;
  const child = run([...tightHeap, fileOf('held-episode.ts'), url, String(tokens), String(messageTokens)]);
  return JSON.parse(await firstLine(child)) as Held;
}

const wanted = new Set(values.only.split(','));
const server = run([fileOf('stream-server.ts')]);
try {
  const url = await firstLine(server);
  await throughClient(url, { tokensPerSecond: 0, tokens: 5_000 }); // what is compiled on the way is compiled
  const speed = wanted.has('speed') ? await compare(url, recorded) : null;
  const ceiling = wanted.has('speed') ? await compare(url, unpaced) : null;
  const corePercent = wanted.has('streams') ? await coreOfMany(url) : null;
  const memory = wanted.has('memory') ? await memoryOfEpisode(url) : null;
  const grownMiB = memory === null ? null : memory.rssBytes / mebibyte;
  if (values.json) console.log(JSON.stringify({ speed, ceiling, corePercent, memory, goals }));
  if (!values.json && speed !== null && ceiling !== null) {
    console.log(
      `a stream of ${recorded.tokensPerSecond} tokens a second: ${speed.client} a second through the client, ${speed.curl} through curl: ${speed.ratio.toFixed(3)} (goal: at least ${goals.speed})`,
    );
    console.log(`as fast as it goes: ${ceiling.client} tokens a second, curl ${ceiling.curl}`);
  }
  if (!values.json && corePercent !== null) {
    console.log(
      `${many.streams} streams of ${many.tokensPerSecond} tokens a second: ${corePercent.toFixed(1)}% of a core (goal: under ${goals.corePercent})`,
    );
  }
  if (!values.json && memory !== null && grownMiB !== null) {
    console.log(
      `an episode of ${memory.ids} tokens: the process grows by ${grownMiB.toFixed(1)} MiB (goal: under ${goals.grownMiB}), of which ${(memory.heldBytes / mebibyte).toFixed(1)} live`,
    );
  }
  const missed = [
    speed !== null && speed.ratio < goals.speed,
    corePercent !== null && corePercent >= goals.corePercent,
    grownMiB !== null && grownMiB >= goals.grownMiB,
  ];
  if (missed.includes(true)) process.exitCode = 1;
} finally {
  server.kill();
}
