// passband demo: the sample tasks against three known-rate models, the bands beside the known rates.
import { Command } from 'commander';
import { fileURLToPath } from 'node:url';
import { findEngine } from '../embedded/engine.ts';
import { rateOf } from '../instruments/known-rate/intent.ts';
import { hasBase, registerBase } from '../sandbox/engine/base-images.ts';
import { parseBase } from '../sandbox/images/base-request.ts';
import { parseEndpoint } from '../sandbox/engine/endpoint.ts';
import { formatLabels } from './bands.ts';
import { calibrateSweep, defaultSeed, formatCalibration } from './calibrate.ts';
import { onInterrupt, orInterrupted } from './interrupt.ts';
import { positiveInt } from './numbers.ts';
import { exitCodes, flagText, note, printJson, printLine } from './output.ts';
import { readBands } from './results.ts';
import { storeUrl, useStore, withStore, type StoreOption } from './store-option.ts';
import { SweepFileSchema } from './sweep-request.ts';
import { runSweep } from './sweep-run.ts';
import { defaultNamespace, exitCodeOf, formatSummary, withEngine, type ServerFlags } from './sweep-start.ts';

const tasksDir = fileURLToPath(new URL('../examples/tasks', import.meta.url));
const models = ['known-rate-0.1', 'known-rate-0.5', 'known-rate-0.9'];
const attempts = 8;
/** What the sample tasks are built on. */
const baseImage = 'debian:12';

const defaults = { name: 'demo', concurrency: 8 } as const;

type DemoFlags = StoreOption &
  Pick<ServerFlags, 'engine'> & {
    readonly concurrency: number;
    readonly name: string;
    readonly json?: boolean;
  };

/** The command that goes on with this demo: as it was run, with the flags that say which one it is and on what. */
export function goingOnBy({ name, store, engine, concurrency }: DemoFlags, env: NodeJS.ProcessEnv): string {
  const given = [
    flagText('--name', name === defaults.name ? undefined : name),
    flagText('--store', store),
    flagText('--engine', engine),
    flagText('--concurrency', concurrency === defaults.concurrency ? undefined : String(concurrency)),
  ].join('');
  if (env['npm_lifecycle_event'] !== 'demo') return `npx passband demo${given}`;
  return given === '' ? 'npm run demo' : `npm run demo --${given}`;
}

async function demo(flags: DemoFlags): Promise<void> {
  const engine = await findEngine(flags.engine ?? null, process.env);
  try {
    await prepare(engine.endpoint);
    await grade(flags, engine.endpoint);
  } finally {
    await engine.stop();
  }
}

async function grade(flags: DemoFlags, engine: string): Promise<void> {
  const request = SweepFileSchema.parse({
    name: flags.name,
    tasks: tasksDir,
    models: models.map((name) => ({ name })),
    attempts,
    concurrency: flags.concurrency,
  });
  const url = storeUrl(flags);
  await useStore({ store: url }, async (store) => {
    const end = await runSweep(request, store, {
      temporal: null,
      namespace: defaultNamespace,
      engine,
      storeUrl: url,
      seed: defaultSeed,
      detach: false,
      splits: null,
      gatesOnly: false,
      env: process.env,
    });
    if (end.stopped !== null) throw end.stopped;
    process.exitCode = exitCodeOf(end);
    const { labels } = await readBands(store, flags.name, new Map());
    const { sweep, planned, counted, rejected } = end.summary;
    const calibration = counted > 0 ? await calibrateSweep(store, sweep, null) : null;
    if (calibration?.ok === false) process.exitCode = exitCodes.disagrees;
    if (flags.json === true) {
      printJson({ sweep, planned, counted, rejected, labels });
    } else {
      printLine(formatLabels(labels, rateOf));
      printLine(formatSummary(end.summary));
      if (calibration !== null) printLine(formatCalibration(calibration));
      const which = `${sweep}${flagText('--store', flags.store)}`;
      printLine(`results: ${store.url} (npx passband bands ${which}, npx passband trial list ${which})`);
    }
    if (end.interrupted) {
      note(`interrupted: nothing is left running; ${goingOnBy(flags, process.env)} goes on where it was`);
    }
  });
}

async function prepare(endpoint: string): Promise<void> {
  const interrupt = onInterrupt();
  try {
    await ensureBase(endpoint, interrupt.signal);
  } finally {
    interrupt.off();
  }
}

/** Makes the base image by debootstrap where the engine neither has it nor can pull it. */
async function ensureBase(endpoint: string, signal: AbortSignal): Promise<void> {
  const parsed = parseEndpoint(endpoint);
  if (await orInterrupted(signal, hasBase(parsed, baseImage, true))) return;
  note(`no registry gives ${baseImage}: making it with debootstrap (about a minute, once)`);
  await registerBase(parsed, await parseBase(`${baseImage}=debootstrap`), note, signal);
}

export function demoCommand(): Command {
  return withEngine(withStore(new Command('demo')))
    .description(
      'grade the sample tasks against three known-rate models and compare the bands with the rates',
    )
    .option('--name <name>', 'the name of the sweep', defaults.name)
    .option('--concurrency <n>', 'trials that run at once', positiveInt, defaults.concurrency)
    .option('--json', 'print one JSON document {sweep, planned, counted, rejected, labels}')
    .addHelpText(
      'after',
      '\nExits 0 where every planned trial is counted and is what its model meant, 1 where a verdict is not, 3 where coverage is below 1, 2 on bad input, 69 where no engine, Temporal server or base image is to be had, 130 on Ctrl-C.',
    )
    .action(demo);
}
