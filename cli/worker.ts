// passband worker: performs what sweeps put on the queue, until it is told to stop.
import { Command, Option } from 'commander';
import { findEngine } from '../embedded/engine.ts';
import type { Variable } from '../worker/config.ts';
import { work } from '../worker/worker.ts';

interface WorkerFlags {
  readonly temporal?: string;
  readonly namespace?: string;
  readonly store?: string;
  readonly sandbox?: string;
  readonly engine?: string;
  readonly kubernetes?: string;
  readonly concurrency?: string;
  readonly untilStdinEnds?: boolean;
}

/** The variable that each flag stands for. */
const variables: Readonly<Record<Exclude<keyof WorkerFlags, 'untilStdinEnds'>, Variable>> = {
  temporal: 'PASSBAND_TEMPORAL_ADDRESS',
  namespace: 'PASSBAND_TEMPORAL_NAMESPACE',
  store: 'PASSBAND_STORE',
  sandbox: 'PASSBAND_SANDBOX',
  engine: 'PASSBAND_ENGINE',
  kubernetes: 'PASSBAND_KUBERNETES',
  concurrency: 'PASSBAND_WORKER_CONCURRENCY',
};

async function run(given: WorkerFlags): Promise<void> {
  const sandbox = given.sandbox ?? process.env['PASSBAND_SANDBOX'] ?? 'engine';
  const named = given.engine ?? process.env['PASSBAND_ENGINE'] ?? null;
  const engine = sandbox === 'engine' ? await findEngine(named, process.env) : null;
  try {
    const flags = { ...given, ...(engine === null ? {} : { engine: engine.endpoint }) };
    await work({
      env: process.env,
      flags: Object.fromEntries(
        Object.entries(variables).flatMap(([flag, variable]) => {
          const value = flags[flag as keyof typeof variables];
          return value === undefined ? [] : [[variable, value]];
        }),
      ),
      untilStdinEnds: given.untilStdinEnds ?? false,
    });
  } finally {
    await engine?.stop();
  }
}

export function workerCommand(): Command {
  return new Command('worker')
    .description('perform what sweeps put on the queue, until SIGTERM; logs are JSON lines on stderr')
    .option(
      '--temporal <address>',
      'HOST:PORT of the Temporal server (PASSBAND_TEMPORAL_ADDRESS, default 127.0.0.1:7233)',
    )
    .option('--namespace <name>', 'its namespace (PASSBAND_TEMPORAL_NAMESPACE, default: default)')
    .option('--store <url>', 'where results lie (PASSBAND_STORE, default ./passband-results)')
    .addOption(
      new Option('--sandbox <driver>', 'where trials run (PASSBAND_SANDBOX, default engine)').choices([
        'engine',
        'kubernetes',
      ]),
    )
    .option(
      '--engine <endpoint>',
      'the container engine (PASSBAND_ENGINE; default: found, or Podman is started)',
    )
    .option(
      '--kubernetes <file>',
      'with --sandbox kubernetes: the driver’s YAML file, as examples/kubernetes.yaml (PASSBAND_KUBERNETES)',
    )
    .option('--concurrency <n>', 'trials at once (PASSBAND_WORKER_CONCURRENCY, default 8)')
    .addOption(
      new Option('--until-stdin-ends', 'end when stdin does, as a child of another command').hideHelp(),
    )
    .addOption(new Option('--json', 'accepted for uniformity: logs are JSON already'))
    .addHelpText(
      'after',
      '\nExits 0 when it was told to stop, 69 where the Temporal server, the store, the engine or the cluster does not answer, 78 on bad configuration.',
    )
    .action(run);
}
