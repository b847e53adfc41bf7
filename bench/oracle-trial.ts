// An oracle trial through the whole product over its floor: two containers by raw API calls that run the same scripts.
// In turns, so that a machine that others use as well is the same for both.
// node bench/oracle-trial.ts [--rounds N] [--trials N] [--json]
import Docker from 'dockerode';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findEngine } from '../embedded/engine.ts';
import { parseEndpoint } from '../sandbox/engine/endpoint.ts';
import { GateRecordSchema } from '../domain/gate.ts';
import { VerdictSchema } from '../domain/verdict.ts';
import { openStore } from '../store/open.ts';
import { readGates, readPlan, readVerdicts } from '../store/verdicts.ts';
import { floorTrial } from './oracle-trial-floor.ts';
import { median } from './median.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    trials: { type: 'string', default: '8' },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
/** Of each in a round. */
const trials = Number(values.trials);
const root = fileURLToPath(new URL('..', import.meta.url));
const task = path.join(root, 'examples/tasks/access-report');
const goal = 1.5;

/** Runs the product's sweep of oracle trials, one at a time, in a process of its own. */
async function sweep(name: string, store: string, engine: string): Promise<void> {
  const flags = [
    '--model',
    'known-rate-1',
    '--scaffold',
    'oracle',
    '--attempts',
    String(trials),
    '--concurrency',
    '1',
  ];
  const args = [
    'cli/main.ts',
    'sweep',
    'start',
    '--name',
    name,
    '--tasks',
    task,
    ...flags,
    '--store',
    store,
    '--engine',
    engine,
  ];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`the sweep ended with ${String(code)}`);
}

/** Milliseconds from the end of one trial to the end of the next: everything that a trial costs, Temporal included. */
async function periods(
  name: string,
  storeDir: string,
): Promise<{ readonly image: string; readonly ms: readonly number[] }> {
  const store = await openStore(storeDir, process.env);
  const plan = await readPlan(store, name);
  const ends: number[] = [];
  for await (const { verdict } of readVerdicts(store, plan, VerdictSchema)) {
    if (verdict.result !== 'passed') throw new Error(`an oracle trial is ${verdict.result}`);
    ends.push(Date.parse(verdict.endedAt));
  }
  const [gate] = (await readGates(store, plan, GateRecordSchema)).values();
  await store.close();
  ends.sort((a, b) => a - b);
  return {
    image: gate?.image?.reference ?? '',
    ms: ends.slice(1).map((end, index) => end - (ends[index] ?? end)),
  };
}

const engine = await findEngine(null, process.env);
const storeDir = await mkdtemp(path.join(tmpdir(), 'passband-bench-'));
try {
  const docker = new Docker(parseEndpoint(engine.endpoint).options);
  const product: number[] = [];
  const floor: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const name = `bench-${round}`;
    await sweep(name, storeDir, engine.endpoint);
    const { image, ms } = await periods(name, storeDir);
    product.push(...ms);
    for (let index = 0; index < trials; index += 1) floor.push(await floorTrial(docker, image, task));
  }
  const [productMs, floorMs] = [median(product), median(floor)];
  const report = {
    trials: rounds * trials,
    productMs: Math.round(productMs),
    floorMs: Math.round(floorMs),
    ratio: productMs / floorMs,
    goal,
  };
  if (values.json) console.log(JSON.stringify(report));
  else
    console.log(
      `oracle trial: ${report.productMs} ms, floor: ${report.floorMs} ms, ratio ${report.ratio.toFixed(2)} (goal: at most ${goal})`,
    );
  if (report.ratio > goal) process.exitCode = 1;
} finally {
  await rm(storeDir, { recursive: true, force: true });
  await engine.stop();
}
