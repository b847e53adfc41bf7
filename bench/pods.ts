// The product on Kubernetes over its floors, in turns: an oracle trial, trials a minute at 4 and at 16 at once, and 300 MB
// into a pod, and out of it, over tar through kubectl exec. On the test cluster, which is brought up where it is not.
// node bench/pods.ts [--rounds N] [--trials N] [--only trial,rates,files] [--json]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { GateRecordSchema } from '../domain/gate.ts';
import { VerdictSchema } from '../domain/verdict.ts';
import { openStore } from '../store/open.ts';
import { readGates, readPlan, readVerdicts } from '../store/verdicts.ts';
import { startTestCluster } from '../test/support/cluster.ts';
import { throughExec } from './pods-files.ts';
import { floorRate, floorTrial, type Floor } from './pods-floor.ts';
import { RawPods } from './raw-pods.ts';
import { median } from './median.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    trials: { type: 'string', default: '6' },
    only: { type: 'string', default: 'trial,rates,files' },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const trials = Number(values.trials);
const root = fileURLToPath(new URL('..', import.meta.url));
const task = path.join(root, 'examples/tasks/access-report');
const goals = { trial: 1.15, bare: 1.4, rate: 0.85, files: 0.9 };

interface Swept {
  readonly image: string;
  /** Milliseconds from the end of one trial to the end of the next. */
  readonly periods: readonly number[];
  /** Trials a minute, from the first one's beginning to the last one's end. */
  readonly rate: number;
}

const work = await mkdtemp(path.join(tmpdir(), 'passband-bench-'));
const cluster = await startTestCluster();
const namespace = await cluster.namespace('passband-bench');
const config = cluster.config(namespace.name);
const configFile = path.join(work, 'kubernetes.yaml');
await writeFile(configFile, stringify(config));
let sweeps = 0;

/** Oracle trials through the whole product, in a process of its own. */
async function sweep(attempts: number, atOnce: number): Promise<Swept> {
  sweeps += 1;
  const name = `bench-${sweeps}`;
  const flags = {
    name,
    tasks: task,
    model: 'known-rate-1',
    scaffold: 'oracle',
    attempts,
    concurrency: atOnce,
  };
  const where = { sandbox: 'kubernetes', kubernetes: configFile, store: path.join(work, 'store') };
  const args = Object.entries({ ...flags, ...where }).flatMap(([flag, value]) => [
    `--${flag}`,
    String(value),
  ]);
  const child = spawn(process.execPath, ['cli/main.ts', 'sweep', 'start', ...args], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`the sweep ended with ${String(code)}`);
  const store = await openStore(where.store, process.env);
  const plan = await readPlan(store, name);
  const verdicts = [];
  for await (const { verdict } of readVerdicts(store, plan, VerdictSchema)) verdicts.push(verdict);
  const [gate] = (await readGates(store, plan, GateRecordSchema)).values();
  await store.close();
  if (verdicts.some(({ result }) => result !== 'passed')) throw new Error('an oracle trial does not pass');
  const { reference = '', digest = '' } = gate?.image ?? {};
  const ends = verdicts.map(({ endedAt }) => Date.parse(endedAt)).sort((a, b) => a - b);
  const begun = Math.min(...verdicts.map(({ startedAt }) => Date.parse(startedAt)));
  return {
    image: `${reference.replace(/:[^:/]+$/, '')}@${digest}`,
    periods: ends.slice(1).map((end, index) => end - (ends[index] ?? end)),
    rate: (verdicts.length * 60_000) / ((ends.at(-1) ?? begun) - begun),
  };
}

const host = cluster.host;
const targets: Floor['targets'] = [
  [host, 6443],
  ['10.96.0.1', 443],
  [host.replace(/\d+$/, '11'), 10_250],
  ['169.254.169.254', 80],
  ['203.0.113.10', 443],
];
const pods = new RawPods(cluster.client, namespace.name);
const only = new Set(values.only.split(','));
const report: Record<string, number> = {};
try {
  await pods.start();
  if (only.has('trial')) {
    const [product, closed, bare]: number[][] = [[], [], []];
    for (let round = 0; round < rounds; round += 1) {
      const { image, periods } = await sweep(trials, 1);
      product?.push(...periods);
      for (let index = 0; index < trials; index += 1) {
        closed?.push(await floorTrial({ pods, image, targets, task }));
        bare?.push(await floorTrial({ pods, image, targets: [], task }));
      }
    }
    report['trialMs'] = median(product ?? []);
    report['trialFloorMs'] = median(closed ?? []);
    report['trialBareMs'] = median(bare ?? []);
    report['trialRatio'] = report['trialMs'] / report['trialFloorMs'];
    report['trialBareRatio'] = report['trialMs'] / report['trialBareMs'];
  }
  if (only.has('rates')) {
    for (const atOnce of [4, 16]) {
      const many = Math.max(atOnce * 3, 16);
      const { image, rate } = await sweep(many, atOnce);
      const floor = await floorRate({ pods, image, targets, task }, many, atOnce);
      report[`perMinuteAt${atOnce}`] = rate;
      report[`perMinuteFloorAt${atOnce}`] = floor;
      report[`rateRatioAt${atOnce}`] = rate / floor;
    }
  }
  if (only.has('files')) Object.assign(report, await throughExec(cluster, config, rounds));
} finally {
  pods.stop();
  await namespace.remove();
  await rm(work, { recursive: true, force: true });
}

const figure = (name: string): string => (report[name] ?? 0).toFixed(2);
const missed = [
  only.has('trial') && (report['trialRatio'] ?? 0) > goals.trial,
  only.has('rates') && [4, 16].some((n) => (report[`rateRatioAt${n}`] ?? 0) < goals.rate),
  only.has('files') && (report['filesRatio'] ?? 0) < goals.files,
].some(Boolean);
if (values.json) console.log(JSON.stringify({ ...report, goals }));
else {
  if (only.has('trial'))
    console.log(
      `oracle trial: ${figure('trialMs')} ms; over the closed floor (${figure('trialFloorMs')} ms) ${figure('trialRatio')} (goal: at most ${goals.trial}); over bare pods (${figure('trialBareMs')} ms) ${figure('trialBareRatio')} (goal: ${goals.bare})`,
    );
  if (only.has('rates'))
    for (const n of [4, 16])
      console.log(
        `trials a minute at ${n} at once: ${figure(`perMinuteAt${n}`)} over ${figure(`perMinuteFloorAt${n}`)}: ${figure(`rateRatioAt${n}`)} (goal: at least ${goals.rate})`,
      );
  if (only.has('files'))
    console.log(
      `300 MB into a pod: ${figure('filesMs')} ms, tar through kubectl exec ${figure('filesFloorMs')} ms: ${figure('filesRatio')} (goal: at least ${goals.files}); out of it: ${figure('filesOutMs')} ms over ${figure('filesOutFloorMs')} ms: ${figure('filesOutRatio')}`,
    );
}
process.exit(missed ? 1 : 0);
