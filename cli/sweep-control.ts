// passband sweep list, status, watch, cancel: sweeps of a store, and the one that runs.
import { Command } from 'commander';
import { InputError } from '../domain/errors.ts';
import { sweepWorkflowId } from '../workflows/messages.ts';
import { listSweeps, readPlan } from '../store/verdicts.ts';
import { followSweep, isRunning, readProgress } from './follow.ts';
import { exitCodes, formatTable, note, printJson, printLine } from './output.ts';
import { progressLine, progressView } from './progress.ts';
import { readSummary } from './results.ts';
import { connectTemporal, embeddedAddress } from './session.ts';
import { storeUrl, useStore, withStore, type StoreOption } from './store-option.ts';
import { formatSummary, type ServerFlags } from './sweep-start.ts';

type Flags = StoreOption & Pick<ServerFlags, 'temporal' | 'namespace'> & { readonly json?: boolean };

function withServer(command: Command): Command {
  return withStore(command)
    .option(
      '--temporal <address>',
      'HOST:PORT of the Temporal server (default: the embedded one that runs for this store)',
    )
    .option('--namespace <name>', 'its namespace', 'default')
    .option('--json', 'print one JSON document');
}

/** The client of the server that a sweep runs on. @throws InputError where none runs for this store. */
async function clientOf(flags: Flags, sweep: string) {
  const address = flags.temporal ?? (await embeddedAddress(storeUrl(flags)));
  if (address === null) {
    throw new InputError(
      `no sweep runs on ${storeUrl(flags)}: start it again to go on with it, or name a server with --temporal`,
      exitCodes.unavailable,
    );
  }
  const client = await connectTemporal(address, flags.namespace);
  if (await isRunning(client, sweep)) return client;
  await client.connection.close();
  throw new InputError(
    `sweep ${sweep} does not run at ${address}: start it again to go on with it`,
    exitCodes.unavailable,
  );
}

export function sweepListCommand(): Command {
  return withStore(new Command('list'))
    .description('the sweeps of a store')
    .option('--json', 'print one JSON document')
    .action(async (flags: Flags) => {
      const rows = await useStore(flags, async (store) => {
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
      const summary = await useStore(flags, async (store) => await readSummary(store, sweep));
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

export function sweepWatchCommand(): Command {
  return withServer(new Command('watch'))
    .description('follow a running sweep to its end; Ctrl-C ends the watching alone')
    .argument('<sweep>', 'the name of a sweep')
    .action(async (sweep: string, flags: Flags) => {
      await useStore(flags, async (store) => await readPlan(store, sweep));
      const client = await clientOf(flags, sweep);
      const stop = new AbortController();
      process.once('SIGINT', () => stop.abort());
      try {
        await followSweep(client, sweep, progressView(), stop.signal);
      } finally {
        await client.connection.close();
      }
      const summary = await useStore(flags, async (store) => await readSummary(store, sweep));
      if (flags.json === true) printJson(summary);
      else printLine(formatSummary(summary));
      if (summary.counted < summary.planned)
        process.exitCode = stop.signal.aborted ? exitCodes.interrupted : exitCodes.uncovered;
    });
}

export function sweepCancelCommand(): Command {
  return withServer(new Command('cancel'))
    .description('cancel a running sweep: its trials are ended and cleaned up; what is counted stays')
    .argument('<sweep>', 'the name of a sweep')
    .action(async (sweep: string, flags: Flags) => {
      await useStore(flags, async (store) => await readPlan(store, sweep));
      const client = await clientOf(flags, sweep);
      try {
        await client.workflow.getHandle(sweepWorkflowId(sweep)).cancel();
      } finally {
        await client.connection.close();
      }
      if (flags.json === true) printJson({ sweep, cancelled: true });
      else note(`sweep ${sweep} is being cancelled`);
    });
}
