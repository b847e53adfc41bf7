// passband sweep list, status, watch, cancel: sweeps of a store, and the one that runs.
import { Command } from 'commander';
import { InputError } from '../domain/errors.ts';
import { sweepWorkflowId } from '../workflows/messages.ts';
import { listSweeps, readPlan } from '../store/verdicts.ts';
import { followSweep, followWhileServed, isRunning, readProgress } from './follow.ts';
import { exitCodes, flagText, formatTable, note, printJson, printLine } from './output.ts';
import { progressLine, progressView } from './progress.ts';
import { readSummary } from './results.ts';
import { connectTemporal, embeddedAddress } from './session.ts';
import { commandText, readStore, storeUrl, withStore, type StoreOption } from './store-option.ts';
import { isComplete, type SweepSummary } from './summary.ts';
import { defaultNamespace, formatSummary, type ServerFlags } from './sweep-start.ts';

type Flags = StoreOption & Pick<ServerFlags, 'temporal' | 'namespace'> & { readonly json?: boolean };

function withServer(command: Command): Command {
  return withStore(command)
    .option(
      '--temporal <address>',
      'HOST:PORT of the Temporal server (default: the embedded one that runs for this store)',
    )
    .option('--namespace <name>', 'its namespace', defaultNamespace)
    .option('--json', 'print one JSON document');
}

type Counts = Pick<SweepSummary, 'counted' | 'planned'>;

const countsText = ({ counted, planned }: Counts): string => `${counted} of ${planned} counted`;

/**
 * The server that a sweep runs on, and a client of it.
 * @throws InputError (exit 69) where it does not run.
 */
async function serverOf(flags: Flags, summary: SweepSummary) {
  const { sweep } = summary;
  const address = flags.temporal ?? (await embeddedAddress(storeUrl(flags)));
  const notRunning = (where: string, mend: string): InputError =>
    new InputError(
      `sweep ${sweep} does not run ${where} (${countsText(summary)}): the command that started it goes on with it${mend}`,
      exitCodes.unavailable,
    );
  if (address === null) {
    throw notRunning(
      `on ${storeUrl(flags)}`,
      '; where it runs on a server of yours, name that with --temporal',
    );
  }
  const client = await connectTemporal(address, flags.namespace);
  if (await isRunning(client, sweep)) return { client, address };
  await client.connection.close();
  throw notRunning(`at ${address}`, '');
}

/** What is said where the command that runs a sweep, and its server with it, was ended. */
export const endedError = (counts: Counts): InputError =>
  new InputError(
    `the sweep's command was ended (${countsText(counts)}): the same command goes on with it`,
    exitCodes.unavailable,
  );

const summaryOf = async (flags: Flags, sweep: string): Promise<SweepSummary> =>
  await readStore(flags, async (store) => await readSummary(store, sweep));

function printSummary(flags: Flags, summary: SweepSummary): void {
  if (flags.json === true) printJson(summary);
  else printLine(formatSummary(summary));
}

export function sweepListCommand(): Command {
  return withStore(new Command('list'))
    .description('the sweeps of a store')
    .option('--json', 'print one JSON document')
    .action(async (flags: Flags) => {
      const rows = await readStore(flags, async (store) => {
        const all = [];
        for await (const sweep of listSweeps(store)) {
          // A plan without models is an audit.
          if ((await readPlan(store, sweep)).models.length > 0) all.push(await readSummary(store, sweep));
        }
        return all;
      });
      if (flags.json === true) printJson(rows);
      else
        printLine(
          formatTable(
            ['sweep', 'planned', 'counted', 'coverage', 'rejected tasks'],
            rows.map((row) => [
              row.sweep,
              row.planned,
              row.counted,
              row.coverage.toFixed(3),
              row.rejected.length,
            ]),
          ),
        );
    });
}

export function sweepStatusCommand(): Command {
  return withServer(new Command('status'))
    .description('what a sweep has come to, from the store; and how it stands, where it runs')
    .argument('<sweep>', 'the name of a sweep')
    .action(async (sweep: string, flags: Flags) => {
      const summary = await summaryOf(flags, sweep);
      const address = flags.temporal ?? (await embeddedAddress(storeUrl(flags)));
      let running = null;
      if (address !== null) {
        const client = await connectTemporal(address, flags.namespace);
        try {
          running = await readProgress(client, sweep);
        } finally {
          await client.connection.close();
        }
      }
      if (flags.json === true) printJson({ ...summary, running });
      else
        printLine(
          [
            formatSummary(summary),
            running === null ? 'it does not run now' : `running: ${progressLine(running)}`,
          ].join('\n'),
        );
    });
}

/** @returns whether the command that ran the sweep was ended before it. */
async function follow(flags: Flags, summary: SweepSummary, signal: AbortSignal): Promise<boolean> {
  const { client, address } = await serverOf(flags, summary);
  const { sweep } = summary;
  const view = progressView();
  try {
    if (flags.temporal !== undefined) {
      await followSweep(client, sweep, view, signal);
      return false;
    }
    const served = async (): Promise<boolean> => (await embeddedAddress(storeUrl(flags))) === address;
    return (await followWhileServed(client, sweep, { view, signal, served })).gone;
  } finally {
    await client.connection.close();
  }
}

export function sweepWatchCommand(): Command {
  return withServer(new Command('watch'))
    .description('follow a running sweep to its end; Ctrl-C ends the watching alone')
    .argument('<sweep>', 'the name of a sweep')
    .action(async (sweep: string, flags: Flags) => {
      const before = await summaryOf(flags, sweep);
      if (isComplete(before)) {
        note(`sweep ${sweep} is complete`);
        printSummary(flags, before);
        return;
      }
      const stop = new AbortController();
      process.once('SIGINT', () => stop.abort());
      const gone = await follow(flags, before, stop.signal);
      const summary = await summaryOf(flags, sweep);
      if (gone && !isComplete(summary)) throw endedError(summary);
      printSummary(flags, summary);
      if (summary.counted < summary.planned)
        process.exitCode = stop.signal.aborted ? exitCodes.interrupted : exitCodes.uncovered;
    });
}

/** What is said of a sweep that was told to end: it takes a while, and how that is followed. */
export function cancelledNote(sweep: string, flags: Flags): string {
  const { temporal, namespace } = flags;
  const server = [
    flagText('--temporal', temporal),
    flagText('--namespace', namespace === defaultNamespace ? undefined : namespace),
  ].join('');
  return `sweep ${sweep} is being cancelled: ${commandText(`sweep watch ${sweep}${server}`, flags)} follows it to its end`;
}

export function sweepCancelCommand(): Command {
  return withServer(new Command('cancel'))
    .description('cancel a running sweep: its trials are ended and cleaned up; what is counted stays')
    .argument('<sweep>', 'the name of a sweep')
    .action(async (sweep: string, flags: Flags) => {
      const summary = await summaryOf(flags, sweep);
      if (isComplete(summary)) {
        if (flags.json === true) printJson({ sweep, cancelled: false });
        else note(`nothing to cancel: sweep ${sweep} is complete (${countsText(summary)})`);
        return;
      }
      const { client } = await serverOf(flags, summary);
      try {
        await client.workflow.getHandle(sweepWorkflowId(sweep)).cancel();
      } finally {
        await client.connection.close();
      }
      if (flags.json === true) printJson({ sweep, cancelled: true });
      else note(cancelledNote(sweep, flags));
    });
}
