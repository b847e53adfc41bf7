// The real vLLM of install.sh as a process of this machine, with the arguments that helm/vllm gives it on the test cluster.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import { renderChart, type Values } from '../support/helm.ts';
import { freePort } from '../support/listening.ts';

const run = promisify(execFile);
/** A cold install fetches 6 GB. */
const installTimeoutMs = 3_600_000;
/** A minute where the machine has nothing else to do; Python compiles its modules at the first start. */
const startTimeoutMs = 1_800_000;

export interface Installed {
  /** A Python with vLLM, whole in one folder. */
  readonly python: string;
  /** Holds tiny, and tiny-lora. */
  readonly models: string;
}

/** Installs what is not there yet. */
export async function installVllm(): Promise<Installed> {
  const { stdout } = await run('nice', ['bash', 'test/vllm/install.sh'], { timeout: installTimeoutMs });
  const [python, models] = z.tuple([z.string(), z.string()]).parse(stdout.trim().split('\n'));
  return { python, models };
}

/** What the test cluster installs, but for the volumes, which are a matter of the machine. */
export async function tinyValues(): Promise<Values> {
  return z.record(z.string(), z.unknown()).parse(parse(await readFile('test/vllm/values.yaml', 'utf8')));
}

const ServerSchema = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({ containers: z.tuple([z.object({ args: z.array(z.string()) })]) }),
    }),
  }),
});

async function argsOfChart({ models }: Installed, port: number): Promise<string[]> {
  const manifests = await renderChart(await tinyValues(), { chart: 'helm/vllm', release: 'tiny' });
  const set = ServerSchema.parse(manifests.find(({ kind }) => kind === 'StatefulSet'));
  return set.spec.template.spec.containers[0].args.map((argument) =>
    argument
      .replace('--host=0.0.0.0', '--host=127.0.0.1')
      .replace('--port=8000', `--port=${port}`)
      .replace('/models/', `${models}/`),
  );
}

export interface LocalVllm {
  readonly url: string;
  readonly installed: Installed;
  readonly process: ChildProcess;
  /** Ends it, and waits until it has ended. */
  stop(): Promise<void>;
}

/** Starts it, and returns once /health is good. It gets what the machine does not need. */
export async function startLocalVllm(): Promise<LocalVllm> {
  const installed = await installVllm();
  const port = await freePort();
  const folder = await mkdtemp(path.join(tmpdir(), 'passband-vllm-'));
  const log = await open(path.join(folder, 'log'), 'w');
  const { python } = installed;
  const program = path.join(python, 'bin/python3.12');
  const args = [program, path.join(python, 'bin/vllm'), 'serve', ...(await argsOfChart(installed, port))];
  const child = spawn('nice', ['-n', '19', ...args], {
    stdio: ['ignore', log.fd, log.fd],
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      LD_LIBRARY_PATH: path.join(python, 'lib'),
      HF_HUB_OFFLINE: '1',
      VLLM_CACHE_ROOT: path.join(folder, 'cache'),
      VLLM_CPU_KVCACHE_SPACE: '1',
      VLLM_NO_USAGE_STATS: '1',
      OMP_NUM_THREADS: '1',
    },
  });
  await log.close();
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await rm(folder, { recursive: true });
  };
  const deadline = Date.now() + startTimeoutMs;
  while (!(await isHealthy(url))) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      const said = await readFile(path.join(folder, 'log'), 'utf8');
      await stop();
      throw new Error(`vLLM does not come up:\n${said.slice(-4_000)}`);
    }
    await sleep(500);
  }
  return { url, installed, process: child, stop };
}

const isHealthy = (url: string): Promise<boolean> =>
  fetch(`${url}/health`).then(
    ({ ok }) => ok,
    () => false,
  );
