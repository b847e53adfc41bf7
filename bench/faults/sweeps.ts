// The sweeps of a bench: started by the CLI, followed by their Temporal workflow, and known by name to faults.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import type { Plan } from '../../domain/sweep.ts';
import { sweepWorkflowId, trialWorkflowId } from '../../domain/workflow-ids.ts';
import type { Store } from '../../store/port.ts';
import { putSweepSettings, readSweepSettings } from '../../store/settings.ts';
import { readPlan } from '../../store/verdicts.ts';
import { trialNamesOf } from './store-keys.ts';
import type { WriteLog } from './writes.ts';

const mainFile = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
/** A command that is started while something is away is started again, as a person would. */
const starts = { tries: 20, pauseMs: 5_000 };
const askMs = 3_000;
const pollMs = 1_000;

export interface SweepsOptions {
  readonly temporal: string;
  /** Past the proxy. */
  readonly store: Store;
  readonly writes: WriteLog;
  /** Of `passband sweep start`, but for the models' address, the attempts and the name. */
  readonly flags: readonly string[];
  readonly models: readonly string[];
  readonly modelUrl: () => string;
  readonly say: (line: string) => void;
}

export class Sweeps {
  readonly plans: Plan[] = [];
  readonly #options: SweepsOptions;
  readonly #connection: Connection;
  readonly #client: Client;
  readonly #trials = new Map<string, string>();
  readonly #running = new Set<string>();

  constructor(options: SweepsOptions) {
    this.#options = options;
    this.#connection = Connection.lazy({ address: options.temporal });
    this.#client = new Client({ connection: this.#connection });
  }

  get planned(): number {
    return this.#trials.size;
  }

  /** Starts a sweep and waits for its end. */
  async run(name: string, attempts: number, signal: AbortSignal): Promise<void> {
    await this.#start(name, attempts, signal);
    const plan = await readPlan(this.#options.store, name);
    this.plans.push(plan);
    this.#running.add(name);
    for (const [index, trial] of trialNamesOf(plan).entries()) {
      this.#trials.set(trialWorkflowId(name, index), trial);
    }
    while (await this.#isRunning(name)) await sleep(pollMs, undefined, { signal });
    this.#running.delete(name);
  }

  /** `SWEEP/TASK/MODEL/SCAFFOLD/NN`; null where the workflow is no trial's. */
  trialOf(workflow: string): string | null {
    return this.#trials.get(workflow) ?? null;
  }

  /** Trials in flight whose activity was last given to this process; none where the server does not answer. */
  async trialsOn(pid: number): Promise<string[]> {
    const inFlight = new Set(this.#options.writes.inFlight);
    const asked = [...this.#trials].filter(([, trial]) => inFlight.has(trial));
    const found = await Promise.all(
      asked.map(async ([workflow, trial]) => ((await this.#isOn(workflow, pid)) ? [trial] : [])),
    );
    return found.flat();
  }

  /** Says where the models are asked from now on, as starting the sweep again with another address does. */
  async moveModels(url: string): Promise<void> {
    const { store } = this.#options;
    for (const sweep of this.#running) {
      const settings = await readSweepSettings(store, sweep);
      if (settings === null) continue;
      const endpoints = Object.fromEntries(
        Object.entries(settings.endpoints).map(([model, endpoint]) => [model, { ...endpoint, urls: [url] }]),
      );
      await putSweepSettings(store, sweep, { ...settings, endpoints });
    }
  }

  /** Waits until a trial has its verdict. */
  async verdictOf(trial: string, signal: AbortSignal): Promise<void> {
    while (!this.#options.writes.hasVerdict(trial)) await sleep(pollMs, undefined, { signal });
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #start(name: string, attempts: number, signal: AbortSignal): Promise<void> {
    const { flags, models, modelUrl, say } = this.#options;
    for (let tries = 1; ; tries += 1) {
      const ofModels = models.flatMap((model) => ['--model', `${model}=${modelUrl()}`]);
      const given = ['--name', name, '--attempts', String(attempts), '--detach', ...ofModels, ...flags];
      const child = spawn(process.execPath, [mainFile, 'sweep', 'start', ...given], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let said = '';
      child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
      const [code] = (await once(child, 'close')) as [number | null];
      if (code === 0) return;
      say(`sweep ${name} is not started (${String(code)}): ${said.trim().split('\n').at(-1) ?? ''}`);
      if (tries === starts.tries) throw new Error(`sweep ${name} cannot be started`);
      await sleep(starts.pauseMs, undefined, { signal });
    }
  }

  /** A server that does not answer has not ended its workflows. */
  async #isRunning(sweep: string): Promise<boolean> {
    const described = await this.#describe(sweepWorkflowId(sweep));
    return described === null || described.status.name === 'RUNNING';
  }

  async #isOn(workflow: string, pid: number): Promise<boolean> {
    const described = await this.#describe(workflow);
    const identity = `${pid}@${hostname()}`;
    return (described?.raw.pendingActivities ?? []).some(
      ({ lastWorkerIdentity }) => lastWorkerIdentity === identity,
    );
  }

  async #describe(workflow: string) {
    const handle = this.#client.workflow.getHandle(workflow);
    return await this.#client.withDeadline(Date.now() + askMs, () => handle.describe()).catch(() => null);
  }
}
