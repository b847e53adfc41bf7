// Sweeps of stub trials through a real Temporal server and a worker as it is shipped: what the orchestration alone costs.
// Events a trial, the worker's peak memory, and whether the time grows with the trials and no faster.
// node bench/scale.ts [--trials 1000,6000] [--window N] [--slots N] [--burst N] [--json]
import { Client, Connection } from '@temporalio/client';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { countTrials, type PlanShape } from '../domain/order.ts';
import { startTemporal } from '../embedded/temporal.ts';
import {
  progressQuery,
  sweepWorkflowId,
  taskQueue,
  trialWorkflowId,
  type SweepInput,
} from '../workflows/messages.ts';
import type { SweepProgress } from '../workflows/reports.ts';
import type { Asked } from './scale/worker.ts';

const { values } = parseArgs({
  options: {
    trials: { type: 'string', default: '1000,6000' },
    window: { type: 'string', default: '100' },
    slots: { type: 'string', default: '8' },
    burst: { type: 'string', default: '0' },
    json: { type: 'boolean', default: false },
  },
});
const window = Number(values.window);
const slots = Number(values.slots);
const goals = { eventsPerTrial: 60, workerGiB: 1.5, burstGiB: 2 };
const plan = { key: 'v1/sweeps/scale/plan.json', sha256: '0'.repeat(64), bytes: 1 };
const attempts = 8;
/** How long an episode of the burst takes: so that all of its trials are there at once. */
const burstHeldMs = 1_000;
const workerFile = fileURLToPath(new URL('./scale/worker.ts', import.meta.url));

interface Measured {
  readonly trials: number;
  readonly wallSec: number;
  readonly trialsPerSec: number;
  /** Of a trial's own workflow, its sweep's share included. */
  readonly eventsPerTrial: number;
  readonly workerPeakMiB: number;
  readonly serverMiB: number;
}

/** Resident memory of a process in MiB: its peak (`VmHWM`) or now (`VmRSS`). */
async function residentMiB(pid: number, field: 'VmHWM' | 'VmRSS'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? NaN) / 1024);
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

const shapeOf = (trials: number): PlanShape => ({
  tasks: Math.max(1, Math.round(trials / attempts)),
  attempts: [attempts],
  scaffolds: 1,
});

/** Gives `work` a server on an empty database and one worker. */
async function onServer<T>(
  asked: Asked,
  work: (client: Client, pids: { readonly worker: number; readonly server: number }) => Promise<T>,
): Promise<T> {
  const dir = await mkdtemp(path.join(tmpdir(), 'passband-scale-'));
  const note = (line: string): void => console.error(line);
  const server = await startTemporal({ dir, binary: null, env: process.env, note });
  const worker = spawn(process.execPath, [workerFile, server.address, JSON.stringify(asked)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  try {
    const connection = await Connection.connect({ address: server.address });
    try {
      return await work(new Client({ connection }), { worker: worker.pid ?? 0, server: server.pid });
    } finally {
      await connection.close();
    }
  } finally {
    await end(worker);
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function eventsOf(client: Client, workflowId: string, runId?: string): Promise<number> {
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  return events?.length ?? 0;
}

/** Events of every run of a sweep, from its last to its first. */
async function eventsOfSweep(client: Client, workflowId: string): Promise<number> {
  let total = 0;
  for await (const { runId } of client.workflow.list({ query: `WorkflowId = '${workflowId}'` }))
    total += await eventsOf(client, workflowId, runId);
  return total;
}

async function sweepOf(trials: number): Promise<Measured> {
  const shape = shapeOf(trials);
  const planned = countTrials(shape);
  return await onServer({ shape, window, heldMs: 0, slots }, async (client, pids) => {
    const started = performance.now();
    const name = `scale-${trials}`;
    const input: SweepInput = { sweep: name, plan, gatesOnly: false, carried: null };
    const handle = await client.workflow.start('sweep', {
      workflowId: sweepWorkflowId(name),
      taskQueue,
      args: [input],
    });
    const ended = handle.result() as Promise<SweepProgress>;
    const over = ended.then(() => true);
    while (!(await Promise.race([over, sleep(10_000, false)]))) {
      const progress = await handle.query(progressQuery).catch(() => null);
      const memory = await residentMiB(pids.worker, 'VmRSS');
      console.error(`${progress?.counted ?? 0} of ${planned}, the worker holds ${memory} MiB`);
    }
    const wallSec = (performance.now() - started) / 1_000;
    const { counted } = await ended;
    if (counted !== planned) throw new Error(`${counted} of ${planned} trials were counted`);
    const ofTrial = await eventsOf(client, trialWorkflowId(name, Math.floor(planned / 2)));
    const ofSweep = await eventsOfSweep(client, sweepWorkflowId(name));
    return {
      trials: planned,
      wallSec: Number(wallSec.toFixed(1)),
      trialsPerSec: Number((planned / wallSec).toFixed(2)),
      eventsPerTrial: Number((ofTrial + ofSweep / planned).toFixed(1)),
      workerPeakMiB: await residentMiB(pids.worker, 'VmHWM'),
      serverMiB: await residentMiB(pids.server, 'VmHWM'),
    };
  });
}

/** So many trials started at one moment, with no sweep to hold them back. */
async function burstOf(trials: number): Promise<Measured> {
  const asked: Asked = { shape: shapeOf(trials), window, heldMs: burstHeldMs, slots };
  return await onServer(asked, async (client, pids) => {
    const started = performance.now();
    const handles = await Promise.all(
      Array.from({ length: trials }, async (_, index) =>
        client.workflow.start('trial', {
          workflowId: trialWorkflowId('burst', index),
          taskQueue,
          args: [{ sweep: 'burst', plan, index }],
        }),
      ),
    );
    console.error(`${trials} trials have begun`);
    for (const handle of handles) await handle.result();
    const wallSec = (performance.now() - started) / 1_000;
    return {
      trials,
      wallSec: Number(wallSec.toFixed(1)),
      trialsPerSec: Number((trials / wallSec).toFixed(2)),
      eventsPerTrial: await eventsOf(client, trialWorkflowId('burst', 0)),
      workerPeakMiB: await residentMiB(pids.worker, 'VmHWM'),
      serverMiB: await residentMiB(pids.server, 'VmHWM'),
    };
  });
}

const sweeps: Measured[] = [];
for (const trials of values.trials
  .split(',')
  .map(Number)
  .filter((n) => n > 0))
  sweeps.push(await sweepOf(trials));
const burst = Number(values.burst) > 0 ? await burstOf(Number(values.burst)) : null;
const [first] = sweeps;
const last = sweeps.at(-1);
/** Seconds a trial of the largest sweep over those of the smallest: 1 where the time is linear. */
const growth =
  first === undefined || last === undefined || first === last
    ? null
    : Number((last.wallSec / last.trials / (first.wallSec / first.trials)).toFixed(2));

if (values.json) console.log(JSON.stringify({ window, slots, sweeps, burst, growth, goals }));
else {
  for (const { trials, wallSec, trialsPerSec, eventsPerTrial, workerPeakMiB, serverMiB } of sweeps) {
    console.log(
      `${trials} trials in ${wallSec} s (${trialsPerSec}/s): ${eventsPerTrial} events a trial (goal under ${goals.eventsPerTrial}), worker's peak ${workerPeakMiB} MiB (goal under ${goals.workerGiB * 1024}), server's ${serverMiB} MiB`,
    );
  }
  if (growth !== null) console.log(`seconds a trial, largest over smallest: ${growth} (linear: 1)`);
  if (burst !== null) {
    console.log(
      `burst of ${burst.trials}: ${burst.wallSec} s, worker's peak ${burst.workerPeakMiB} MiB (goal under ${goals.burstGiB * 1024})`,
    );
  }
}
