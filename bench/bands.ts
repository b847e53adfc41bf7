// Figure: 10,000 verdicts to bands in a fresh process, at most 3 s; beside its floor, which only reads and parses the same files.
// node bench/bands.ts [--json] [--verdicts N]; with --folder it is the measured process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { planKey, sweepGateKey, verdictKey } from '../domain/layout.ts';
import { results } from '../domain/failures.ts';
import { readGates, readPlan, readVerdicts, trialsOf } from '../store/verdicts.ts';
import { openStore } from '../store/open.ts';
import { GateRowSchema, labelsOf, VerdictRowSchema, type VerdictRow } from '../statistics/labels.ts';
import { gateOf, planOf, verdictOf } from '../test/support/sweep-data.ts';
import { median } from './median.ts';

const goalMs = 3000;
const rounds = 5;
const attempts = 8;
const sweep = 'bench';

/** Every file of the sweep that is read, as paths under the folder, in `files.json` beside them. */
async function makeSweep(folder: string, verdicts: number): Promise<void> {
  const plan = planOf({ sweep, tasks: Math.ceil(verdicts / attempts), models: { model: attempts } });
  const files: string[] = [];
  const write = async (key: string, value: unknown): Promise<void> => {
    const file = path.join(folder, key);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify(value));
    files.push(file);
  };
  await write(planKey(sweep), plan);
  for (const task of plan.tasks) await write(sweepGateKey(sweep, task.slug), gateOf(task));
  for (const trial of trialsOf(plan)) {
    if (trial.index === verdicts) break;
    const result = results[(trial.index * 7) % results.length] ?? 'failed';
    await write(verdictKey(trial.path), verdictOf(trial, result));
  }
  await writeFile(path.join(folder, 'files.json'), JSON.stringify(files));
}

/** What `passband bands` does. */
async function toBands(folder: string): Promise<number> {
  const store = await openStore(folder);
  const plan = await readPlan(store, sweep);
  const gates = await readGates(store, plan, GateRowSchema);
  const verdicts: VerdictRow[] = [];
  for await (const { verdict } of readVerdicts(store, plan, VerdictRowSchema)) verdicts.push(verdict);
  return labelsOf({ plan, gates, verdicts }).reduce((sum, label) => sum + label.n_counted, 0);
}

/** Milliseconds from starting a process that runs a script on a folder to its end. */
async function timeOf(script: string, folder: string): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, [script, '--folder', folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [status] = (await once(child, 'exit')) as [number | null];
  if (status !== 0) throw new Error(`${script} ended with status ${status ?? 'of a signal'}`);
  return performance.now() - start;
}

async function measure(verdicts: number, json: boolean): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'passband-bench-'));
  try {
    await makeSweep(folder, verdicts);
    const times: Record<'bands' | 'floor', number[]> = { bands: [], floor: [] };
    for (let round = 0; round < rounds; round += 1) {
      times.bands.push(await timeOf(import.meta.filename, folder));
      times.floor.push(await timeOf(path.join(import.meta.dirname, 'bands-floor.ts'), folder));
    }
    const [bandsMs, floorMs] = [Math.round(median(times.bands)), Math.round(median(times.floor))];
    const figure = { verdicts, bandsMs, floorMs, ratio: bandsMs / floorMs, goalMs, met: bandsMs <= goalMs };
    if (json) console.log(JSON.stringify(figure));
    else {
      console.log(
        `${verdicts} verdicts to bands: ${bandsMs} ms (goal: at most ${goalMs} ms), floor ${floorMs} ms, ratio ${figure.ratio.toFixed(2)}`,
      );
    }
    if (!figure.met) process.exitCode = 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    verdicts: { type: 'string', default: '10000' },
    folder: { type: 'string' },
  },
});
if (values.folder === undefined) await measure(Number(values.verdicts), values.json);
else await toBands(values.folder);
